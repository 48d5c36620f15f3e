"""The protocol, pure: no I/O, no clock, no randomness, no logging.

Everything a musician or a conductor may do is decided here from values handed in; what must be stored, and
what is to be done after it is stored, comes back as values. Where do we …

- say which state follows which, who may do it and what it needs? ``transitions``; the states: ``states``
- check and form ids and succession names? ``names``; own a task? ``claim``
- say what went wrong and who must act? ``errors``
- change a number? ``settings``
- play a task, step by step? ``musician``
- conduct a plan? ``conductor``
- write and read the texts that sessions send each other? ``messages``
- weigh context, deviations, age, smoothness? ``rules``
- say what a musician may not do, and see it in a command? ``policy``
- believe or doubt what the last session left? ``resumption``
- note what a session did? ``journal``
- propose what is worth keeping? ``proposals``, ``landing``
- look at a task as the sources' scripts do? ``inspections``
"""
