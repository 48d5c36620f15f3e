"""Writes and reads the messages between sessions (D14, sources "Message Format Standards"). Where do we …

- list the types? ``kinds``; write the small messages? ``types``
- write what is to be judged? ``submissions``, made of ``particulars``
- read a stored message, by its fields or its text? ``stored``
- lay a text out and read it back? ``forms``, each field by its ``codecs``
- number what was sent back and answer it? ``feedback``
- read correction steps in an answer? ``corrections``
"""
