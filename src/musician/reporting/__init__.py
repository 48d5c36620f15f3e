"""Describes a run for the surfaces that show it: a command's lines, a table on a terminal, a web page.

Theory. A surface only renders; this package decides what there is to say. The state of a task is one object,
:class:`~musician.reporting.standing.Standing`. It is built once per snapshot, and the conductor's engine reads it as
well. The changes of a run are one ordered stream (``service.changes_since``). ``timeline`` lists it as it was written;
``events`` retells it as a story, with the sentences of ``wording``. ``asks`` pairs each question that waits for a
person with the commands that answer it.

Nothing here knows of terminals, pages, colours or time zones. Times are the database's, and texts are not shortened.
"""
