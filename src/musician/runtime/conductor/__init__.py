"""A plan, conducted: look at everything, do what is missing, wait (D13). Where do we …

- run the main loop? ``conduct``, one at a time: ``conductor_lock``
- gather the facts for decisions? ``facts``; what a self-correction costs: ``estimate``
- carry out decisions? ``performing``
- merge finished tasks? ``merging``
- ask a reviewing agent? ``reviewing``; an answering one: ``answering``; in a scratch clone, both: ``consulting``
"""
