"""Reads plans and task instructions: Markdown in, typed objects out, every problem with its file and line.

Where do we …

- say what a plan is made of? ``model``
- read Markdown into headings, fences and prose? ``markdown``
- say which headings and which fences mean something? ``headings``, ``fences``
- collect the problems, to report them all at once? ``problems``
- read the keys of a plan, a task or an instruction file? ``keys``
- read a whole plan, compare it with the one that was locked? ``plan``
- read steps, agent pieces and checkpoints? ``body``
- build a task from its keys, body and defaults? ``tasks``
- report text that its author probably meant as a heading, fence or test? ``unread``
- find out what a plan for a project must say? ``needs``; write its first draft? ``draft``
- warn of what is doubtful? ``warnings``; draw a plan? ``graph``
- read or write one task's instructions? ``instructions``
"""
