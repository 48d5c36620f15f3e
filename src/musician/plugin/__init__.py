"""Claude Code's plugin: its files, how they get to the client, and what they start beside the hooks.

The files are templates in ``template/``, because a hook must start in a few milliseconds: it names one interpreter and
the folders it needs by their absolute paths, which only the installation knows. Where do we …

- say where an installation lies, and by which settings the client finds it? ``places``
- make the files? ``rendering``
- change somebody's settings and nothing else in them? ``settings_file``
- install and uninstall? ``installation``
- try whether every part answers? ``selfcheck``
- tell a session in one line what it is? ``statusline``
- wake an idle session? ``monitor``
"""
