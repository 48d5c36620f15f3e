"""What is told of a run, whoever shows it: a command's lines, a table on a terminal, a page.

Theory. A surface renders and nothing else: what it says of a task it is told here. Where a task stands is one object,
:class:`~musician.reporting.standing.Standing`, made once a look and read by the conductor's engine as well. What
happens is one stream in the one order (``service.changes_since``), told as it was written (``timeline``) or as a story
(``events``, in the words of ``wording``). What waits for a person stands beside the commands that answer it (``asks``).

Refuses to know of terminals, pages, colours and time zones: stamps are the database's, texts are whole.
"""
