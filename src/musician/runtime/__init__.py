"""The drivers: they run the engines against the real world. Where do we …

- play one task in one session? ``musician``; keep claiming tasks: ``fleet``
- conduct a plan? ``conductor``
- play a session verb by verb, without a driver? ``manual``
- find out where the last session stopped? ``resuming``
- turn a task's text into the program an engine plays? ``program``
- say what a claim is played with, driven or by hand? ``claimed``; store what an engine wants stored: ``recording``
- keep a task's working tree, step by step? ``tasktree``; set it up once: ``preparing``
- write the files in ``temp/`` and the reports? ``task_files``; proposals: ``proposing``
- say where to look first after a failure? ``investigation``
- tell whose process a task is played by, and whether it lives? ``reporting/owners``
- say where a task stands, to an agent? ``briefing``
- keep a heartbeat fresh while something takes long? ``heartbeat``
- raise the one error of a task group? ``tasks``
- verify what the conductor itself must? ``verifying``
- run a checkpoint's verification and store it? ``checkpoint``
- lock a plan's file? ``locking``
"""
