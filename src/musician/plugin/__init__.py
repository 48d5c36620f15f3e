"""Claude Code's plugin: its files, their installation, and the programs that the client starts beside the hooks.

The files are templates in ``template/``. A hook must start in a few milliseconds, so it names its interpreter and the
folders it needs by absolute paths, which are known only at installation. Where do we …

- say where an installation is, and by which settings the client finds it? ``places``
- write the files? ``rendering``
- change one entry of the client's settings and nothing else? ``settings_file``
- install and uninstall? ``installation``
- check that every part answers? ``selfcheck``
- show a session's task in one line? ``statusline``
- wake an idle session? ``monitor``
"""
