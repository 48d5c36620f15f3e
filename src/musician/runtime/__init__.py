"""The drivers: they run the engines against the real world. Where do we …

- turn a task's text into the program an engine plays? ``program``
- keep a task's working tree, step by step? ``tasktree``
- run a checkpoint's verification and store it? ``checkpoint``
- play one task in one session? ``work``, driven by ``session``
- look for messages, verdicts and the claim's end? ``watching``
- find out where the last session stopped? ``resumption``
- write the files in ``temp/`` and the reports? ``papers``
- tell whose process a task is played by, and whether it lives? ``owners``
- wait to be woken? ``wakeups``
- conduct a plan? ``conduct``; gather what it decides by? ``facts``; do what it decided? ``performing``
- merge finished tasks? ``merging``
- lock a plan's file? ``locking``
- run a plan's set-up once in a tree? ``preparing``
- play a session by hand, verb by verb? ``byhand``
- keep claiming tasks? ``fleet``
"""
