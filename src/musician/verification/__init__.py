"""Verification: run by the program at checkpoints, never reported by a model (D16).

Where do we …

- verify a whole checkpoint, stage by stage? ``checkpoint``; what the stages find: ``findings``
- decide which commands a checkpoint runs? ``select``; which tests besides: ``categories``
- run commands and judge the results? ``run``; one command: ``commands``; again with other tests:
``invocation``
- decide what a failure that does not repeat means? ``flaky``; where it comes from: ``failure``
- know how many tests a command ran? ``counts``: what ``inside`` recorded, else what the output says (``summaries``)
- test the tests? ``validity``, in the code as it was: ``oldtree``, kept apart from the new by ``inside``
- judge the change by the tests before it? ``basejudge``; which files are referees: ``referees``, ``starters``
- measure coverage of changed lines? ``covered``; whose reports: ``reports``
- read a change, and scan it? ``change``, ``scan``
- compile, and look for import cycles? ``integration``; who imports whom: ``imports``
- compare a subagent's claim with what was found? ``claimed``
- store a result, and word a review's "Tests" field? ``result``; learn from earlier results: ``earlier``

``musician.protocol.rules.readiness`` decides what the results mean for the checkpoint.
"""
