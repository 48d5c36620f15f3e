"""Finds where the last session stopped, by git and the database (D20). Where do we …

- look back before anything is played? ``lookback``
- find the first item that is not done? ``resumption``
- compare what was left with what is known? ``reconciling``
- write a HANDOFF from what the program knows? ``handoffs``
"""
