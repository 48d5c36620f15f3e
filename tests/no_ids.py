"""What is no id, wherever one is given: each entrance refuses all of them before it touches anything (D8)."""

ESCAPING = (
    "../../outside",
    "..",
    ".",
    "/etc/x",
    "task-03/../../x",
    "task-03\\..\\x",
    "%2e%2e%2fx",
    "-rf",
    "--help",
    "task 03",
    "task-03\\n",
    "task-٠٣",
    "CON",
    "x.lock",
    "a" * 82,
)
"""B43."""

WIDENING = ("zzz' OR task_id='task-03", "task-03' --", "task-0%")
"""B18."""

RESERVED = ("task-00", "fallback-s1")
"""The names this project keeps for itself."""
