"""The policy: the acts that a musician may do only with a grant, and how they are recognised (D21). Where do we …

- list these acts, with the reasons of their refusal? ``forbidden``
- judge a tool call? ``tool_calls``; a server's tool by its name: ``servers``; the many calls that need no judging:
  ``prescreen``
- find the programs that a shell command runs? ``shell``; what one of them prints: ``run``
- find what a program would do? ``programs``, by its ``verbs``; what git would do: ``gitline``
- say whether a path may be written? ``paths``
"""
