"""A tool is about to be used: may it be, and is there something the session must hear first (D21, D34, D35)?

Decided in this order. A session that is no musician's is left alone; a first tool of ours is left to the person at the
client, where there is one. A subagent is kept from the protocol's acts, and from every act once the claim it was begun
under has ended. An urgent message stops every call but the inbox, until it is acknowledged. Our own tools are let
through; their server checks what they do. A claim that was taken over writes nothing more. A context that is spent
leaves the way out, and reading. Then the policy: what is refused is written down.

The guard fails closed (D36): an event it cannot read, a crash, a database that is gone and a judgement that takes too
long are refusals, with a way out. That a session is a musician's is known without the database, too.
"""

import os

from musician.hooks.answers import PLANNING, allow, deny, with_input
from musician.hooks.entry import log
from musician.protocol.policy.prescreen import OWN_TOOLS, READING, is_harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.answers import Answer
    from musician.hooks.event import HookEvent
    from musician.hooks.hook_context import HookContext
    from musician.protocol.policy.forbidden import Act, Refusal

JUDGED_WITHIN_S = 1.0
"""Of work, by the processor's time: a busy machine refuses nothing."""

_READING = READING | {"TaskOutput"}
_READING_VERBS = ("siblings", "conductor_health", "query", "needs_me", "show")
"""Tools of ours that change nothing, a message's receipt included: a subagent may use them, too."""

_BEGINNING = ("plan", "run")

OWN_SUBAGENT = "musician:subagent"
_ALL_ROUND = (None, "", "general-purpose", "claude")
"""The client's own agents that do anything; none named is one of them."""
_MODELS = ("opus", "sonnet", "haiku")
"""As the tool that begins an agent names them; it takes no other name."""

_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108  # nothing is made there
_VARIABLES = ("HOME", "TMPDIR", "MUSICIAN_DB", "MUSICIAN_SESSION", "CLAUDE_PROJECT_DIR")
_MOST_SHOWN_IDS = 5
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _./:=,@%+-'\"#?!()\n")


def answer(event: "HookEvent", context: "HookContext") -> "Answer | None":
    if (context.played or context.outlived) and not event.is_readable:
        return deny(event.name, "What this call would do cannot be read. Make it anew, in plainer words.")
    tool, verb = event.text("tool_name"), _verb(event)
    if event.agent_id is not None:
        if context.resumed:
            from musician.hooks.subagents import begin

            begin(event, context)
        refused = _kept_from_a_subagent(event, context, tool, verb)
    else:
        refused = _interrupted(event, context, tool, verb)
    if refused is not None:
        return refused
    if tool.startswith(OWN_TOOLS):
        return _own_tool(event, context, tool, verb)
    if not context.played:
        return _after_the_end(event, context, tool) or _of_a_musicians(event, context, tool)
    return (
        _spent(event, context, tool, verb)
        or _judged(event, context, tool)
        or _as_our_subagent(event, context, tool)
    )


def trouble(event: "HookEvent", context: "HookContext", problem: str) -> "Answer | None":
    """Answer if the rules cannot be read: only calls that change nothing pass, and those that mend the trouble."""
    if not (context.played or context.outlived or context.is_marked(event.session_id or "")):
        return None
    tool = event.text("tool_name")
    if tool.startswith(OWN_TOOLS) and event.agent_id is None:
        return allow(event.name, "the protocol's own tool")
    if tool in _READING:
        return None
    why = f"Refused: {problem}. Nothing can be guarded or written down like this, so only reading passes."
    out = "Tell the user: `musician doctor` says what is wrong; `/clear` begins a conversation without the task."
    return deny(event.name, f"{why} {out}")


def _verb(event: "HookEvent") -> str:
    """The protocol's verb that a call is, by our tool or typed as a plain command; "" for any other call."""
    tool = event.text("tool_name")
    if tool.startswith(OWN_TOOLS):
        return tool.rpartition("__")[2]
    given = event.raw.get("tool_input")
    command = given.get("command") if tool == "Bash" and isinstance(given, dict) else None
    if not isinstance(command, str) or not _PLAIN.issuperset(command.strip()):
        return ""
    words = command.split(maxsplit=2)
    return words[1] if words[:1] == ["musician"] and len(words) > 1 and "\n" not in command.strip() else ""


# -- who asks, and what must be heard first ------------------------------------------------------------------------


def _kept_from_a_subagent(
    event: "HookEvent", context: "HookContext", tool: str, verb: str
) -> "Answer | None":
    if tool in _READING:
        return None
    if tool.startswith(OWN_TOOLS) and verb not in _READING_VERBS:
        whose = "conductor" if context.is_conductor else "musician"
        return deny(event.name, f"`{verb}` is the {whose}'s own act: return to it, and say what you found.")
    if context.outlived:
        ended = "The claim that you were begun under has ended, and with it your piece."
        return deny(event.name, f"{ended} Write nothing more: end now, and say how far you are.")
    if any(held.urgent for held in context.played):
        return deny(
            event.name, "Stopped by an urgent message to your session: end now, and say how far you are."
        )
    return None


def _interrupted(event: "HookEvent", context: "HookContext", tool: str, verb: str) -> "Answer | None":
    """Refuse all calls until the urgent message is acknowledged, but the inbox, and the search that finds it."""
    if verb == "inbox" or tool == "ToolSearch":
        return None
    for held in context.played:
        if not held.urgent:
            continue
        from musician import service
        from musician.protocol.errors import DatabaseUnusable

        claim = held.claim
        urgent = service.urgent_messages(context.store, claim)
        try:
            service.deliver(context.store, claim, tuple(message.id for message in urgent))
        except DatabaseUnusable as error:
            # then the delivery is not recorded
            log(f"{event.name}: {error}")
        ids = ", ".join(str(message.id) for message in urgent[:_MOST_SHOWN_IDS])
        said = f"Stopped by the conductor: urgent message {ids} for {held.task_id}."
        return deny(
            event.name, f"{said} Read it with `inbox` before anything else: nothing passes until then."
        )
    return None


def _own_tool(event: "HookEvent", context: "HookContext", tool: str, verb: str) -> "Answer | None":
    if verb == "claim" and event.text("permission_mode") == "plan" and not context.played:
        return deny(event.name, PLANNING)
    if verb in _BEGINNING and os.environ.get("CLAUDE_CODE_SESSION_ATTENDED") == "1":
        return None  # who is at the terminal is asked before a plan is locked, or agents are started
    is_ours = not context.is_strangers or _is_alone(tool)
    return allow(event.name, "the protocol's own tool") if is_ours else None


def _is_alone(tool: str) -> bool:
    """Nobody is there to be asked, so that the client would refuse it; and it is the plugin's, not a namesake's."""
    return tool.startswith(OWN_TOOLS[0]) and os.environ.get("CLAUDE_CODE_SESSION_ATTENDED") == "0"


def _after_the_end(event: "HookEvent", context: "HookContext", tool: str) -> "Answer | None":
    """No claim is live: one that was taken over is fenced, one that its session ended has left it free."""
    if tool in _READING:
        return None
    from musician import service
    from musician.hooks.reminder import is_free

    for held in context.held:
        if not held.conducts and service.was_taken(context.store, held.claim):
            text = f"This session's claim on {held.task_id} was taken over: nothing more is written by it. "
            if is_free(context, held.task_id):
                return deny(
                    event.name, f"{text}Nobody has it now: call `claim` with {held.task_id} to go on."
                )
            return deny(
                event.name, f"{text}End your turn; work goes on in the successor, or here after /clear."
            )
    return None


def _spent(event: "HookEvent", context: "HookContext", tool: str, verb: str) -> "Answer | None":
    """From the exit threshold on (D35). A subagent's context is its own."""
    if tool in _READING or verb or event.agent_id is not None:
        return None
    from musician.hooks.numbers import numbers_of

    exit_pct = numbers_of(context).thresholds_pct[-1]
    for held in context.played:
        if max(held.warned_pct or 0.0, held.context_pct or 0.0) < exit_pct:
            continue  # under the threshold the rules need not be imported
        from musician.protocol.rules.budget import Stance, evaluate

        settings = context.settings
        is_spent = evaluate(held.context_pct, None, settings) is Stance.EXIT
        if is_spent or evaluate(held.warned_pct, None, settings) is Stance.EXIT:
            used = (
                f"{held.context_pct:.0f} % of your context is used" if is_spent else "Your context is spent"
            )
            why = f"{used}, and from {exit_pct:.0f} % on nothing is begun."
            return deny(
                event.name, f'{why} Only reading and the protocol\'s tools pass: `handoff(reason="context")`.'
            )
    return None


def _as_our_subagent(event: "HookEvent", context: "HookContext", tool: str) -> "Answer | None":
    """What the client would begin as one of its all-round agents is begun as ours, which is offered none of the
    protocol's tools (D34). Any other kind was chosen for what it is.

    Ours plays with the model of the settings, whichever its musician asks for; "" is what its own file says."""
    given = event.raw.get("tool_input")
    if tool != "Agent" or not isinstance(given, dict) or "CLAUDE_PLUGIN_ROOT" not in os.environ:
        return None
    if given.get("subagent_type") not in (*_ALL_ROUND, OWN_SUBAGENT):
        return None
    ours = {key: value for key, value in given.items() if key != "model"} | {"subagent_type": OWN_SUBAGENT}
    if context.settings.prompts.subagent_model in _MODELS:
        ours["model"] = context.settings.prompts.subagent_model
    return None if ours == given else with_input(event.name, ours)


# -- the policy ----------------------------------------------------------------------------------------------------


def _judged(event: "HookEvent", context: "HookContext", tool: str) -> "Answer | None":
    cwd = event.cwd or os.getcwd()
    given = event.raw.get("tool_input")
    if is_harmless(
        tool, given, cwd=cwd, tree=_tree(context, cwd), database=context.database, real=os.path.realpath
    ):
        return None
    refusal = _refusal(event, context, tool, frozenset())
    if refusal is None:
        return None
    try:
        from musician import service
        from musician.hooks.status_file import note_down

        store = context.store
        granted = service.grants_of(store, *(held.task_id for held in context.played))
        refusal = _refusal(event, context, tool, granted)
        if refusal is not None and event.agent_id is None:
            note_down(context, service.note_refusal(store, context.played[0].claim, refusal))
    except Exception as error:  # the act is refused even if that cannot be written down
        log(f"{event.name}: the refusal is not in the journal: {error}")
    return None if refusal is None else deny(event.name, str(refusal))


def _of_a_musicians(event: "HookEvent", context: "HookContext", tool: str) -> "Answer | None":
    """Who conducts reads what a musician writes, and leaves the writing to it."""
    if not context.is_conductor or tool in _READING:
        return None
    from musician.protocol.policy.forbidden import Act

    refusal = _refusal(event, context, tool, frozenset(set(Act) - {Act.OUTSIDE}))
    if refusal is None:
        return None
    why = "what lies in .musician/trees is its musician's, and the database the program's"
    return deny(
        event.name, f"Refused: {refusal.what}: {why}. Read there; have it changed with `judge` or `send`."
    )


def _refusal(
    event: "HookEvent", context: "HookContext", tool: str, granted: "frozenset[Act]"
) -> "Refusal | None":
    from musician.hooks.limit import time_limit
    from musician.protocol.policy.paths import Surroundings
    from musician.protocol.policy.tool_calls import judge
    from musician.trees.aliases import git_aliases

    given = event.raw.get("tool_input")
    if not isinstance(given, dict):
        return None
    cwd = event.cwd or os.getcwd()
    root = context.tree or cwd
    where = Surroundings(
        cwd=cwd,
        root=root,
        tree=_tree(context, cwd),
        database=context.database,
        session=event.session_id or "",
        is_subagent=event.agent_id is not None,
        conducts=context.is_conductor,
        home=os.path.realpath(os.path.expanduser("~")),
        temporary=tuple(
            os.path.realpath(each) for each in (os.environ.get("TMPDIR", ""), *_TEMPORARY) if each
        ),
        real=os.path.realpath,
        grants=granted,
        aliases=git_aliases(cwd) if "git" in str(given) else {},
        variables={name: os.environ[name] for name in _VARIABLES if name in os.environ},
    )
    with time_limit(JUDGED_WITHIN_S):
        return judge(tool, given, where)


def _tree(context: "HookContext", cwd: str) -> str:
    """The tree of the claim, wherever the session stands."""
    own = context.tree_of(context.played[0]) if context.played else None
    return own or context.tree or cwd
