"""Who else may write what we make: those whom git lets work in the repository (``core.sharedRepository``).

``init`` gives our folder the mode that git's setting asks for; from then on that folder is the setting, and needs no
git to be read. Every process that works in a repository follows it with its umask, so that no file of ours needs to be
thought of, and neither does what agents make in their trees.
"""

import os
import stat


def follow(folder: str) -> None:
    """Let what this process makes be its group's where ``folder`` is; nothing where there is no such folder."""
    try:
        mode = os.stat(folder).st_mode
    except OSError:
        return
    if mode & stat.S_IWGRP:
        os.umask(os.umask(0o077) & ~(stat.S_IRWXG | (mode & (stat.S_IROTH | stat.S_IXOTH))))
