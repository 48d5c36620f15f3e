"""The errors of this project, named after who must act.

There are four families: :class:`CallerError` (the call was wrong, ``caller``), :class:`SessionError` (the musician's
session must do something else, ``session``), :class:`ConductorError` (the conductor must act, ``conductor``),
:class:`OperatorError` (the person who looks after the machine must act, ``operator``). Code matches on types and
fields, never on text. The text is one line with what happened and the remedy.
"""

from musician.protocol.errors.caller import *
from musician.protocol.errors.conductor import *
from musician.protocol.errors.families import *
from musician.protocol.errors.operator import *
from musician.protocol.errors.session import *
