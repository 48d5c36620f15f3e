"""The agents a musician can play with, behind one port.

Where do we …

- say what an agent is asked and what it tells? ``port``
- read ``::context 58%`` and the like from an agent's output? ``tags``
- run a step's own blocks? ``shell``
- pick the agent a task names? ``registry``
"""
