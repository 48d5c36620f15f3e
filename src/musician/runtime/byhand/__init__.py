"""A session that no driver plays: a person, a script, or a client's agent calls its verbs. Where do we …

- take a task up? ``takeup``
- note steps, pieces, deviations, the end? ``hand``
- verify and submit a checkpoint? ``submitting``
- weigh the context it is told? ``weighing``, from ``readings``

Imports point one way: ``takeup``, ``submitting``, ``weighing``, ``hand``, ``readings``.
"""
