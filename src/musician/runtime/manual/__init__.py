"""A session that no driver plays: a person, a script, or a client's agent calls its verbs. Where do we …

- take a task up? ``takeup``
- record steps, pieces, deviations, a context, the end? ``manual_session``
- rebuild the engine's state? ``rebuilding``
- verify and submit a checkpoint? ``submitting``

Imports point one way: ``takeup``, ``submitting``, ``manual_session``, ``rebuilding``.
"""
