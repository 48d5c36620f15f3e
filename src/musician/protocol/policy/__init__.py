"""What a musician never does of its own accord, and how it is recognised (D21). Where do we …

- list it, with what is said instead? ``forbidden``
- judge a tool call? ``tool_calls``; a server's tool by its name: ``servers``; the many that need no judging:
  ``prescreen``
- see which programs a shell command runs? ``shell``
- see what a program would do? ``programs``, by its ``verbs``; what git would: ``gitline``
- tell whose a path is? ``places``
"""
