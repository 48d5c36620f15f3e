"""The command line. A command parses its arguments, calls one verb and renders the result; no rules live here.

Where do we …

- find a command, and turn any error into one line and an exit code? ``main``, ``faults``
- declare what commands have in common? ``options``
- open the repository, its settings and its database? ``context``
- act for one claim, verb by verb? ``acting``
- print for people, pipes and programs? ``render``

Every other file is one command or a family of them, imported when it is called.
"""
