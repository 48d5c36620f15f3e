"""One task, one session, driven (DESIGN 6). Where do we …

- claim, resume, play, end? ``work``; the loop that feeds the engine and does its acts: ``session``
- look for messages, verdicts and the claim's end? ``watching``
"""
