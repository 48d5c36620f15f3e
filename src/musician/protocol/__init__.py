"""The protocol as pure code: no I/O, no clock, no randomness, no logging.

Everything that a musician or a conductor may do is decided here, from values that are passed in. What must be stored,
and what is done after that, is returned as values. Where do we …

- say which state follows which, who may change it and on what condition? ``transitions``; the states: ``states``
- check and build ids and succession names? ``names``; own a task? ``claim``
- define errors, by who must act? ``errors``
- change a number? ``settings``
- play a task, step by step? ``musician``
- conduct a plan? ``conductor``
- write and read the messages between sessions? ``messages``
- judge context, deviations, heartbeats, smoothness? ``rules``
- say what a musician may not do, and recognise it in a command? ``policy``
- evaluate what the last session left? ``resumption``
- record what a session did? ``journal``
- propose knowledge worth keeping? ``proposals``, ``landing``
- inspect a task as the sources' scripts do? ``inspections``
"""
