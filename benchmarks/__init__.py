"""What the protocol costs, as ratios measured in one run (``python -m benchmarks``).

Times depend on the machine and on what else it does; a ratio of two things measured in turn hardly does. So every
goal is a ratio, every figure the median of several rounds, and what is compared is measured A B A B, never all of
A and then all of B. No test asserts a time.

Where do we …

- say what a figure is, and print it? ``figures``
- measure in turn, and read other processes' CPU time? ``measuring``
- start processes that surely end? ``forking``
- prepare a database with tasks? ``orchestra``
- compare the verbs with the bare driver (P1)? ``service``
- wake waiters, and let them idle (P3)? ``wakeup``; the processes that wait: ``waiters``
- let writers contend (P7)? ``gate``
- play a whole task (P6)? ``task``; the process that plays it: ``played``
- start the command? ``startup``
"""
