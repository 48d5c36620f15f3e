"""Plans and task instructions: Markdown in, typed objects out, every problem with its file and line.

Where do we …

- say what a plan is made of? ``model``
- read Markdown into headings, fences and prose? ``markdown``
- say which headings and which fences mean something? ``headings``, ``fences``
- gather what is wrong, to tell it all at once? ``problems``
- read the keys of a plan, a task or an instruction file? ``keys``
- read a whole plan, compare it with the one that was locked? ``plan``
- read steps, agent pieces and checkpoints? ``body``
- put a task together from its keys, body and defaults? ``tasks``
- read or write one task's instructions? ``instructions``
"""
