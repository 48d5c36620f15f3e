"""The protocol, pure: no I/O, no clock, no randomness, no logging.

Everything a musician or a conductor may do is decided here from values handed in; what must be stored, and
what is to be done after it is stored, comes back as values. Where do we …

- say which state follows which, who may do it and what it needs? ``transitions``
- name the states and their groups? ``states``
- check and form ids and succession names? ``names``
- say what went wrong and who must act? ``errors``
- write and read the texts that sessions send each other? ``messages``
- weigh context usage? ``budget``
- judge a submission by rule? ``review``
- play a task, step by step? ``musician``
- conduct a plan? ``conductor``
"""
