"""Names written as a text, one list of them each: as many as there are, they are read more easily so."""


def listed(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())
