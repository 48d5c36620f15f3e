"""A plan, conducted: look at everything, do what is missing, wait (D13). Where do we …

- go round? ``conduct``, one at a time: ``conductor_lock``
- gather what is decided by? ``facts``; what a self-correction costs: ``estimate``
- do what was decided? ``performing``
- merge finished tasks? ``merging``
- ask a reviewing agent? ``reviewing``; an answering one: ``answering``; in a scratch clone, both: ``aside``
"""
