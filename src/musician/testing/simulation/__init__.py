"""A small orchestra in virtual time: the real drivers and the real store, on a machine that dies whenever it can.

One seed decides everything, so that a run that went wrong can be played again.
"""
