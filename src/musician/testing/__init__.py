"""The testing kit that is shipped: the real Claude Code client, played against a scripted model.

Only the client itself shows what a plugin of hooks and tools does, while the model's part must be written by
the test, word for word. So the client is real, and the model is a script. The kit knows the client and the Messages
API; it knows nothing of the protocol, and holds none of its rules.

Rules: loopback only. The client gets a home, settings and a key of the kit's own and nothing of the surroundings.
Everything recorded is bounded. No key is ever kept. Nothing here sleeps to be right: a test waits for a request, for
words on a screen, for a line of output or for a state, each with a bound that only something broken reaches.

Where do we …

- say what the model answers? ``script``; where it waits for somebody? ``part``
- look at what the client sent? ``received``
- play the model? ``model_server``
- give a client surroundings of its own? ``client_home``
- run it with ``-p``? ``print_client``; in a terminal? ``terminal_client``; through the SDK? ``hosted_client``
- play a musician with an agent that is a script? ``scripted_agent``
- wait for what gives no event? ``waiting``

``hosted_client`` needs ``musician[claude]``, which brings the client too; the terminal needs ``tmux``.
"""

from musician.testing.client_home import ClientHome, find_client
from musician.testing.model_server import ScriptedModel, ScriptProblem
from musician.testing.part import Await, Part
from musician.testing.print_client import PrintClient, PrintResult
from musician.testing.received import Message, Received, RequestKind, ToolAnswer
from musician.testing.script import Reply, ScriptedFailure, ToolUse, Usage, say, use
from musician.testing.terminal_client import TerminalClient
from musician.testing.waiting import NotInTime, until

__all__ = [
    "Await",
    "ClientHome",
    "Message",
    "NotInTime",
    "Part",
    "PrintClient",
    "PrintResult",
    "Received",
    "Reply",
    "RequestKind",
    "ScriptProblem",
    "ScriptedFailure",
    "ScriptedModel",
    "TerminalClient",
    "ToolAnswer",
    "ToolUse",
    "Usage",
    "find_client",
    "say",
    "until",
    "use",
]
