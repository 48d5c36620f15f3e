"""What the last session left, and how far it is believed (D20). Where do we …

- write and read a HANDOFF? ``handoff``
- go on with the conversation that it had with its agent? ``conversation``
- read the files of a task, leniently? ``file_claims``
- say what follows where they, git and the database disagree? ``mismatches``
"""
