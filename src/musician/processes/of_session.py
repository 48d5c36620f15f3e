"""Takes out of an environment what belongs to one session of a client: who inherits it is taken for that session.

A run goes on without the session in which its command was given, and so do the agents that it starts. Logins and
models are the user's own, and stay.
"""

from collections.abc import Mapping

_BEGINNINGS = (
    *(
        "CLAUDECODE",
        "CLAUDE_CODE_SESSION",
        "CLAUDE_CODE_CHILD",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_MESSAGING",
    ),
    *(
        "CLAUDE_PROJECT_DIR",
        "CLAUDE_PLUGIN",
        "CLAUDE_ENV_FILE",
        "MUSICIAN_SESSION",
        "MUSICIAN_HOST",
        "MUSICIAN_TREE",
    ),
)
"""What the names of such variables begin with."""

_OURS = "MUSICIAN_GIT_CONFIG_BEFORE"
_GITS = (_OURS, "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")
"""The same, where a musician's session has had git configured for it; else they are the user's own."""


def without_session(environ: Mapping[str, str]) -> dict[str, str]:
    beginnings = (*_BEGINNINGS, *(_GITS if _OURS in environ else ()))
    return {name: value for name, value in environ.items() if not name.startswith(beginnings)}
