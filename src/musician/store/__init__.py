"""Where everything is kept. Where do we …

- say what a store can do? ``port``
- turn rows into typed values? ``rows``
- wake those who wait, after the commit? ``bell``
- wait for what others write? ``listening``
- say what names a database? open what a name means? ``naming``, ``opening``
- keep it in SQLite? ``sqlite``
"""
