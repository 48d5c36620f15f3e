"""Verification: run by the program at checkpoints, never reported by a model (D16).

Where do we …

- decide which commands a checkpoint runs? ``select``
- run them and judge what came out? ``run``
- decide what a failure that does not repeat means? ``flaky``
- read how many tests a command ran? ``counts``
- keep a result, and say it in a review's "Tests" field? ``result``
"""
