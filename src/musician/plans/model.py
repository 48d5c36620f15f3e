"""The parts of a plan as typed values (DESIGN 7).

They are valid by construction: a :class:`Plan` has at least one task, unique task ids, and dependencies that exist
within the phase and form no cycle. Lines count from 1 and say where in the file an item was read.
"""

from collections.abc import Iterator
from dataclasses import field
from enum import StrEnum

from musician.protocol.rules.ceilings import Amounts
from musician.protocol.values import dataclass

MAX_TITLE_CHARACTERS = 300
"""A title is shown on one line of a table, a commit's subject or a message."""

MAX_COMMAND_BYTES = 100_000
"""A command is passed to a shell as one argument. The kernel allows 128 KiB, and options may be added to it."""


class Review(StrEnum):
    """Who judges submissions (D18)."""

    RULES = "rules"
    HUMAN = "human"
    AGENT = "agent"


class Answers(StrEnum):
    """Who answers a question, or an error report that the rules do not decide."""

    HUMAN = "human"
    AGENT = "agent"


class Isolation(StrEnum):
    """Where a task is played (D24)."""

    WORKTREE = "worktree"
    SHARED = "shared"


class Sandboxing(StrEnum):
    """Whether a task is played behind a wall (D36): where there can be one, there only, or not."""

    AUTO = "auto"
    REQUIRED = "required"
    OFF = "off"


class Network(StrEnum):
    """What a sandbox reaches."""

    FULL = "full"
    REGISTRIES = "registries"
    """Where packages come from, the provider of the agent's model, and what the plan names."""
    NONE = "none"


class Changes(StrEnum):
    """What a task changes. The rules approve a completion that changes no file only for ``none`` (D29)."""

    FILES = "files"
    NONE = "none"


class Require(StrEnum):
    """What a plan requires of the merged result at its end, beside complete tasks (D27)."""

    GREEN = "green"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPiece:
    """A piece of a step for a subagent: ``##### Agent 1: …``.

    ``size`` (changed lines), ``files`` and ``well_defined`` are the plan's estimates; None where it gives none.
    """

    number: int
    title: str
    prose: str
    run: tuple[str, ...]
    line: int
    size: int | None = None
    files: tuple[str, ...] = ()
    well_defined: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """``#### Step 1: …``: prose for a model, ``run`` blocks for the shell agent (each one script)."""

    number: int
    title: str
    prose: str
    run: tuple[str, ...]
    rework: tuple[str, ...]
    agents: tuple[AgentPiece, ...]
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """``#### Checkpoint 1: …``. ``tests`` are its own commands. The last one of a task is ``final``, written or not."""

    number: int
    title: str
    prose: str
    tests: tuple[str, ...]
    rework: tuple[str, ...]
    final: bool
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """One task. The defaults here hold where neither the task nor its plan has the key."""

    task_id: str
    title: str
    overview: str
    plan_overview: str = field(default="", compare=False)
    """As the task's own file has it; a plan has it once."""
    items: tuple[Step | Checkpoint, ...]
    files: tuple[str, ...] = ()
    danger: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    agent: str = "shell"
    account: str = ""
    """The login by which its agent has its model, "" is what the agent's name says; those on one share its limits."""
    model: str = ""
    """The agent's, by the agent's own name for it; "" is what the agent takes by itself."""
    subagent_model: str = ""
    """That of its subagents; "" is what the settings say."""
    test_first: bool | None = None
    """Whether its model is told to write tests first; None is what the settings say."""
    budget: Amounts = Amounts()
    """Its own ceilings, in the place of the settings' for one task; 0 is none of its own."""
    review: Review = Review.RULES
    isolation: Isolation = Isolation.WORKTREE
    test: str | None = None
    setup: str | None = None
    pause_siblings_at: tuple[int, ...] = ()
    reviewer: str | None = None
    """The script that the shell agent runs to judge a submission, if an agent reviews (D18.6)."""
    answers: Answers = Answers.HUMAN
    answerer: str | None = None
    """The script that the shell agent runs to answer, if an agent answers."""
    copy: tuple[str, ...] = ()
    """Untracked paths of the project that are copied into the task's tree (D33)."""
    share: tuple[str, ...] = ()
    """Untracked paths of the project that are linked into the task's tree (D33)."""
    sandbox: Sandboxing = Sandboxing.OFF
    network: Network = Network.FULL
    reach: tuple[str, ...] = ()
    """Further hosts for ``network: registries``."""
    sandbox_write: tuple[str, ...] = ()
    """Paths outside its tree that a sandboxed task may write; ``~`` is the home."""
    sandbox_read: tuple[str, ...] = ()
    """Hidden paths that it may read."""
    may_change: tuple[str, ...] = ()
    """Patterns of the tests and referee files that the task may change without a person's approval (D26)."""
    may_pass_before: bool = False
    """New tests may pass on the old code, as characterisation tests of a refactoring do (D16)."""
    changes: Changes = Changes.FILES
    source_path: str
    line: int

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(item for item in self.items if isinstance(item, Step))

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """All checkpoints. There is at least one, and the last one is final."""
        return tuple(item for item in self.items if isinstance(item, Checkpoint))

    @property
    def tests_the_whole(self) -> bool:
        """Whether its ``test`` runs on the plan's base as well, and at the end on the merged result (D27)."""
        return self.test is not None and self.isolation is Isolation.WORKTREE


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A group of tasks that run in parallel. Phases run one after the other, from number 1."""

    number: int
    title: str
    tasks: tuple[TaskSpec, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A whole plan. ``text`` is the file as read, ``sha256`` a hex digest of it and its instruction files.

    ``instruction_files`` are (path, text) pairs. With ``text`` they are all that is needed to read the plan again.
    """

    plan_id: str
    title: str
    overview: str
    phases: tuple[Phase, ...]
    path: str
    text: str
    sha256: str
    instruction_files: tuple[tuple[str, str], ...] = ()
    require: Require | None = None

    @property
    def tasks(self) -> Iterator[TaskSpec]:
        for phase in self.phases:
            yield from phase.tasks

    def task(self, task_id: str) -> TaskSpec:
        """Return the task with exactly this id; KeyError if there is none."""
        for task in self.tasks:
            if task.task_id == task_id:
                return task
        raise KeyError(task_id)

    def conflicts_of(self, task: TaskSpec) -> frozenset[str]:
        """Return the ids of the tasks that share a danger file with ``task``: they never run together (DESIGN 7)."""
        return frozenset(
            other.task_id
            for other in self.tasks
            if other.task_id != task.task_id
            and (
                set(task.danger) & {*other.danger, *other.files}
                or set(other.danger) & {*task.danger, *task.files}
            )
        )
