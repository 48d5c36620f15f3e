"""Gives other users write access to what we make, if git shares the repository (``core.sharedRepository``).

``init`` gives our folder the mode that git's setting asks for; from then on that folder is the setting, and needs no
git to be read. Every process that works in a repository follows it with its umask, so that no file of ours needs to be
thought of, and neither does what agents make in their trees.
"""

import os
import stat


def follow(folder: str) -> None:
    """Make files of this process writable by its group if ``folder`` is; do nothing if there is no such
    folder.
    """
    try:
        mode = os.stat(folder).st_mode
    except OSError:
        return
    if mode & stat.S_IWGRP:
        os.umask(os.umask(0o077) & ~(stat.S_IRWXG | (mode & (stat.S_IROTH | stat.S_IXOTH))))
