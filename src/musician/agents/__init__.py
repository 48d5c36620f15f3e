"""The agents a musician can play with, behind one port.

Where do we …

- say what an agent is asked, what it tells, and what every one keeps? ``port``
- hear what it prints, and keep it in the log? ``hearing``; read ``::context 58%`` and the like in it? ``tags``
- run a step's own blocks? ``shell``
- pick the agent a task names? ``registry``
"""
