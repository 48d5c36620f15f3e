"""The musician's engine: it plays one task in one session, and turns inputs into records and acts. Where do we …

- take an input? ``engine``; the inputs are in ``inputs``
- say what must be stored, and what is done after it? ``ready``, built in a ``turn``
- keep state between two inputs? ``state``
- decide what comes next between two pieces? ``boundary``
- handle what running pieces report? ``playing``; what the conductor says, or its silence? ``answers``
- handle the choices of a session by hand? ``choosing``
- hold the task's items? ``program``
- fill in messages? ``writing``; the facts since the last submission are in ``since``
"""
