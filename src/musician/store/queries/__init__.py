"""Every query there is, a class of constants for each noun: what a backend must bring, and what it answers with.

The SQL is the backend's, under the same names: for SQLite ``sqlite/queries/*.sql``, which also says what each is for.
``tests/store/test_queries.py`` holds the two to each other.
"""
