"""Git: the one root, a working tree per task, commits at step boundaries, trial merges (D24, D25)."""
