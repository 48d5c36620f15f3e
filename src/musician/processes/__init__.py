"""Operating-system processes: who is who, who is alive, who is ended.

Where do we …

- name a process so that no other is ever taken for it? ``identity``
- start a program that cannot outlive us? ``leash``, ``spawn``
- hold and test the lock that says a session is alive? ``vital``
- end a tree of processes? ``ending``
"""
