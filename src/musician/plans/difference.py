"""What changed between a plan as it was locked and as it is now (DESIGN 7, ``plan amend``)."""

from difflib import unified_diff

from musician.plans.markdown import normalise


def plan_difference(old_text: str, new_text: str, *, path: str) -> str:
    """A unified diff, "" if there is no difference but line ends."""
    lines = unified_diff(
        normalise(old_text).split("\n"),
        normalise(new_text).split("\n"),
        fromfile=f"{path} (locked)",
        tofile=path,
        lineterm="",
    )
    return "".join(f"{line}\n" for line in lines)
