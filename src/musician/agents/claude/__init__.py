"""Claude Code as a musician, through the official SDK (``claude-agent-sdk``, the extra ``claude``).

Where do we …

- find the client? ``client``; start it, and end it? ``agent``
- talk to it? ``transport``
- play a piece, steer and interrupt it? ``session``
- say how a turn ended, and what its provider did? ``endings``
"""
