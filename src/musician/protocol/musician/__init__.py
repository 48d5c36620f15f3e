"""The musician's engine: one session playing one task, told what happened and saying what follows. Where do we …

- take an input? ``engine``; what there is to be told: ``inputs``
- say what is stored, and what is done after it? ``ready``, built in a ``turn``
- remember something between two inputs? ``state``
- decide what comes next between two pieces? ``boundary``
- hear from what runs? ``playing``; from the conductor, or nothing from it? ``answers``
- hold the task's items? ``program``
- fill in its messages? ``writing``; what they tell of the path so far: ``since``
"""
