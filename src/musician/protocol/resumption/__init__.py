"""Resumption: evaluates what the last session left (D20). Where do we …

- write and read a HANDOFF? ``handoff``
- decide whether to continue the last session's conversation with its agent? ``conversation``
- read the files of a task, leniently? ``file_claims``
- decide what follows if the files disagree with git and the database? ``mismatches``
"""
