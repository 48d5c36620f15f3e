"""Operating-system processes: identifying, starting, watching and ending them.

Where do we …

- name a process so that no other is ever taken for it? ``identity``
- run a program that cannot outlive us? ``spawn``, by means of ``leash``; ``kennel`` forks leashes by a ``fork_server``
- launch a musician that winds down by itself when we die? ``running``; the musician's side is ``lease``
- hold and test the lock that says a session is alive? ``life_lock``
- end a tree of processes? ``ending``
- hear that we should stop? ``signals``
- keep and quote what a program wrote? ``output``
"""
