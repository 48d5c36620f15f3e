"""The demo: a small project whose tests fail, a plan that mends it, and some failures on purpose on the way.

``project/`` is the user's code, not ours; ``PLAN.md`` tells the story with the shell agent alone. Where do we …

- make a fresh repository of it? ``story``
- say afterwards what happened? ``retelling``
- play it as a model would? ``player``; with a real agent that reaches nobody? ``scripted``
- run it and tell about it? ``musician.cli.demo``
"""
