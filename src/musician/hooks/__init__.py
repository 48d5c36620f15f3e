"""Claude Code's hooks: one process for each event, started by the client and waited for.

Theory. Most sessions in a repository are no musicians, and most events of a musician have nothing to say. So
:mod:`~musician.hooks.entry` decides with one read of the database whether there is anything to do, before it
imports what is needed to do it: ``dataclasses``, ``re``, ``enum``, ``json`` and ``typing`` cost more than the whole
hook may (DESIGN 9, P4). What is imported on the way there uses none of them. Rules:

- a repository without a database, or a session that owns nothing, is none of ours: nothing printed or made;
- standard output carries nothing or exactly one JSON object, on every path (B06); what is to be logged goes to
  standard error;
- no hook raises, blocks without a reason, or waits longer than ``place.PATIENCE_S`` for the database (B10);
- surfaces hold no rules: each event's module reads, calls the service and words the answer.

Each event has a module, imported for it alone, with ``answer(event, place)`` and, where the default (say it on
standard error and let the client go on) is not right, ``trouble(event, place, problem)``.
"""
