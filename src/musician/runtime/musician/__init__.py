"""One task, one session, driven (DESIGN 6). Where do we …

- claim, resume, play, end? ``work``; the loop that feeds the engine and does its acts: ``session``
- keep the agent's session open from piece to piece? ``engaged``
- look for messages, verdicts and the claim's end? ``watching``
"""
