"""The rules that depend on numbers and severities, each a small pure function. Where do we …

- weigh context, and count errors? ``budget``
- keep or delegate work, and retry it? ``delegation``
- say how grave a deviation is? ``deviations``
- call somebody stale? ``liveness``
- say whether a verified checkpoint may be reported? ``readiness``
- judge a submission, score smoothness? ``review``
- let a client's session stop? ``gate``
"""
