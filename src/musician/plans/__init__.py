"""Plans and task instructions: Markdown in, typed objects out, every problem with its file and line.

Where do we …

- say what a plan is made of? ``model``
- read Markdown into headings, fences and prose? ``markdown``
- read the keys of a plan, a task or an instruction file? ``keys``
- read a whole plan? ``plan``
- read or write one task's instructions? ``instructions``
- compare a plan with the one that was locked? ``difference``
"""
