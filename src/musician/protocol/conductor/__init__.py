"""The conductor's engine: one pure decision about the whole plan at one moment (D13). Where do we …

- decide what is due? ``engine``; its input is in ``orchestra``, its output in ``acts``
- give tasks their musicians, or hold them back? ``launching``; within their means? ``means``
- pause a whole phase for one checkpoint? ``barrier``
- let a reviewing agent judge instead of the rules? ``opinion``
- recognise anything out of the ordinary? ``anomalies``
"""
