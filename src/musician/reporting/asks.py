"""Pairs each kind of question for a person with the commands that answer it (D18).

The kind is the name that the conductor gave its question. Any of the commands settles the question, so the next run
goes on.
"""

import shlex
from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType

from musician import service
from musician.processes.output import headline, one_line
from musician.protocol.arguments import as_argument
from musician.protocol.names import NO_PLAN
from musician.protocol.rules.ceilings import example_of
from musician.protocol.states import ACTIVE, State
from musician.protocol.values import dataclass
from musician.store.port import Store
from musician.store.rows import HumanRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A command's verb and what it says, for a surface that has buttons. ``hint`` stands for a person's own words."""

    verb: str
    text: str = ""
    hint: str = ""
    more: str = ""
    retries: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A ``command`` to type, and its ``effect`` in a few words."""

    command: str
    effect: str

    @property
    def order(self) -> Order | None:
        """The same as one step, so that no surface offers another one; None for what is a shell's, or a look."""
        match shlex.split(self.command):
            case ["musician", ("send" | "handoff") as verb, _, *rest]:
                text, options = (rest[0] if rest else ""), dict(pairwise(rest[1:]))
                own = text in _OWN_WORDS
                return Order(
                    verb=verb,
                    text="" if own else text,
                    hint=text if own else "",
                    more=options.get("--more", ""),
                    retries=options.get("--retries", ""),
                )
            case ["musician", "task", "retry", _]:
                return Order(verb="retry")
        return None


_TREE = "\"$(git for-each-ref --format='%(worktreepath)' refs/heads/musician/{plan}/{task})\"/."
"""A task's tree, from any tree of the repository. A page that is kept does not say on whose machine it was made.

Where git knows of none it is ``/.``: of an empty name git makes the tree that one stands in, and would merge there.
"""

_LOG = ".musician/logs/{task}.musician.log"
_TAIL = (
    f'tail "$(git rev-parse --show-toplevel)"/{_LOG} 2>/dev/null'
    f' || tail "$(git rev-parse --git-common-dir)"/../{_LOG}'
)
"""From the main tree, wherever its git directory is; else from a linked one."""

_OWN_WORDS = frozenset({"your answer", "what to do", "what to do differently"})
"""Of a command that is shown: a person writes something else in their place."""

_MOST_CHARS = 1000
_MOST_JOINED_CHARS = 200
"""A text up to this length is joined to one line. Of a longer one only the first line is shown: it names the log."""

VERDICTS: Mapping[State, str] = MappingProxyType(
    {
        State.REVIEW_APPROVED: "musician review approve {task}",
        State.REVIEW_FAILED: 'musician review reject {task} "what is wrong"',
        State.FIX_PROPOSED: 'musician review fix {task} "what to do"',
    }
)
"""A verdict to the command that gives it."""

_LOOK = ("musician review show {task}", "look at what it says")
_SEND_BACK = (VERDICTS[State.REVIEW_FAILED], "send it back")
_FIX = (VERDICTS[State.FIX_PROPOSED], "say how to go on")
_STOP = ("musician handoff {task}", "end its session; a fresh one goes on")
_OTHERWISE = (
    ("musician review show {task}", "look at it"),
    ('musician send {task} "what to do"', "answer, and let it go on"),
)

ANSWERS: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        "review": (_LOOK, (VERDICTS[State.REVIEW_APPROVED], "take it"), _SEND_BACK, _FIX),
        "error": (
            _LOOK,
            _FIX,
            (VERDICTS[State.REVIEW_FAILED], "have its session hand off"),
            _STOP,
        ),
        "conflict": (
            (
                f"git -C {_TREE} merge musician/{{plan}}/_integration",
                "bring both sides together in its tree; resolve and mend there, git add, git commit",
            ),
            ('musician review fix {task} "resolved by hand"', "then: it is verified, and merged"),
            _SEND_BACK,
        ),
        "question": (('musician send {task} "your answer"', "answer it"), _STOP),
        "retries": (
            ("musician history {task}", "see what failed"),
            ('musician send {task} "what to do differently" --retries 3', "let it try again, three times"),
        ),
        "progress": (
            ("musician history {task}", "see how its sessions ended"),
            ('musician send {task} "what to do differently"', "let it try again"),
        ),
        "launch": (
            (_TAIL, "see why it does not start"),
            ('musician send {task} "mended"', "let it try again"),
        ),
        "withdrawn": (
            ("musician handoff {task}", "put it back"),
            ("musician plan amend {file}", "once it is out of the plan"),
        ),
        "doubtful": (
            ("musician doctor", "check this machine's clock"),
            ('musician send {task} "go on"', "let it go on, once its session is gone"),
        ),
        "merge": (
            (
                "git switch musician/{plan}/_integration && git merge musician/{plan}/{task}",
                "merge it by hand: resolve, git add, git commit; then git switch - back to your branch",
            ),
            (
                "musician task retry {task}",
                "try the merge again, once it is made by hand or what it failed of is mended",
            ),
        ),
        "trouble": (
            ("musician doctor", "check the surroundings"),
            ('musician send {task} "mended"', "let it try again"),
            ("musician run {file}", "the same, where no run is at work or the task is complete"),
        ),
        "provider": (
            (
                "musician run {file}",
                "once you have logged in again, paid, named another model, or it serves again: all on it go on",
            ),
            ('musician send {task} "go on"', "the same, to a run that is at work"),
        ),
        "budget": (
            (
                'musician send {task} "go on" --more {more}',
                "let it use so much more, and its plan and this day",
            ),
            (
                "musician plan amend {file}",
                "once the ceiling is raised in .musician/config.toml; then run again",
            ),
        ),
        "stopped": (
            ("musician status {task}", "see where it stands"),
            ('musician send {task} "go on"', "let a fresh session go on"),
        ),
    }
)
"""Kind to its (command, effect) pairs, the recommended one first. What stands in braces is filled in."""

JUDGED = frozenset({"review", "error", "conflict"})
"""The kinds that are answered by a verdict. All others are answered by a message."""


def asked(ask: HumanRow) -> str:
    """Return the question on one line, as ``question: Red or blue?``."""
    return f"{ask.kind}: {shown(ask)}"


def shown(ask: HumanRow) -> str:
    """Return the text of the question on one line."""
    return one_line(ask.text if len(ask.text) <= _MOST_JOINED_CHARS else headline(ask.text), _MOST_CHARS)


def answers_to(ask: HumanRow, *, plan_id: str) -> tuple[Answer, ...]:
    """Return the commands that answer ``ask``, the recommended one first. An unknown kind is answered by a message."""
    more, file = example_of(ask.subject_id), as_argument(ask.plan_path or "PLAN")
    return tuple(
        Answer(command=command.format(task=ask.task_id, plan=plan_id, more=more, file=file), effect=effect)
        for command, effect in ANSWERS.get(ask.kind, _OTHERWISE)
    )


def still_asked(store: Store, task_id: str) -> str:
    """Return what a word to a task has not answered, with the command that does; "" if nothing waits."""
    ask = next((ask for ask in service.open_asks(store) if ask.task_id == task_id), None)
    if ask is None:
        return ""
    plan_id = service.task_row(store, task_id).plan_id or NO_PLAN
    return f"{task_id} still waits, {headline(ask.text)}: {next_command(ask, plan_id=plan_id)}"


def who_reads(store: Store, task_id: str) -> str:
    """Return who will read a word to a task that nobody plays now; "" if a session has it."""
    row = service.task_row(store, task_id)
    is_played = row.session_id is not None and row.state in ACTIVE
    return "" if is_played else "nobody plays it now: its next session reads it"


def next_command(ask: HumanRow, *, plan_id: str) -> str:
    return answers_to(ask, plan_id=plan_id)[0].command
