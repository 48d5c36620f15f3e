"""What a plan is made of, as typed values (DESIGN 7).

Valid by construction: a :class:`Plan` that exists has unique task ids, dependencies that exist within the
phase and form no cycle, and at least one task. Lines are 1-based and name the place in the file the item
was read from.
"""

from collections.abc import Iterator
from enum import StrEnum

from musician.protocol.values import dataclass

MAX_TITLE_CHARACTERS = 300
"""A title is one line of a table, of a commit's subject, of a message."""

MAX_COMMAND_BYTES = 100_000
"""A command is one argument of a shell, of which the kernel takes 128 KiB, and options may be added to it."""


class Review(StrEnum):
    """Who judges submissions (D18)."""

    RULES = "rules"
    HUMAN = "human"
    AGENT = "agent"


class Isolation(StrEnum):
    """Where a task is played (D24)."""

    WORKTREE = "worktree"
    SHARED = "shared"


class Changes(StrEnum):
    """What a task leaves behind: a completion that changes no file passes by rule only as ``none`` (D29)."""

    FILES = "files"
    NONE = "none"


class Require(StrEnum):
    """What the end of a plan asks of the merged whole beside its tasks (D27)."""

    GREEN = "green"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPiece:
    """A piece of a step for a subagent: ``##### Agent 1: …``.

    ``size`` (changed lines), ``files`` and ``well_defined`` are what the plan says of it; None where it does not.
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
    """``#### Checkpoint 1: …``; ``tests`` are its own commands, ``final`` the task's last, written or not."""

    number: int
    title: str
    prose: str
    tests: tuple[str, ...]
    rework: tuple[str, ...]
    final: bool
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """One task; what holds where neither it nor its plan says otherwise stands here."""

    task_id: str
    title: str
    overview: str
    items: tuple[Step | Checkpoint, ...]
    files: tuple[str, ...] = ()
    danger: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    agent: str = "shell"
    review: Review = Review.RULES
    isolation: Isolation = Isolation.WORKTREE
    test: str | None = None
    setup: str | None = None
    pause_siblings_at: tuple[int, ...] = ()
    reviewer: str | None = None
    """What the shell agent runs to judge a submission, where an agent reviews (D18.6)."""
    copy: tuple[str, ...] = ()
    """Untracked paths of the project that its tree gets a copy of (D33)."""
    share: tuple[str, ...] = ()
    """Untracked paths of the project that its tree gets a link to (D33)."""
    may_change: tuple[str, ...] = ()
    """Patterns of tests and referee files that it may change without a judge (D26)."""
    may_pass_before: bool = False
    """Its new tests may pass on the code as it was: a refactoring under a characterisation test (D16)."""
    changes: Changes = Changes.FILES
    source_path: str
    line: int

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(item for item in self.items if isinstance(item, Step))

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Never empty; the last one is final."""
        return tuple(item for item in self.items if isinstance(item, Checkpoint))

    @property
    def tests_the_whole(self) -> bool:
        """Whether its ``test`` is run on the plan's base, and at the end on all that is merged (D27)."""
        return self.test is not None and self.isolation is Isolation.WORKTREE


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Its tasks run in parallel; phases run in order, from number 1."""

    number: int
    title: str
    tasks: tuple[TaskSpec, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A whole plan; ``text`` is the file as read, ``sha256`` a hex digest over it and its instruction files.

    ``instruction_files`` has their (path, text): with ``text`` all that is needed to read the plan again.
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
        """The task with exactly this id; KeyError if there is none."""
        for task in self.tasks:
            if task.task_id == task_id:
                return task
        raise KeyError(task_id)

    def conflicts_of(self, task: TaskSpec) -> frozenset[str]:
        """Tasks with which it shares a dangerous file: they are played one after the other (DESIGN 7)."""
        return frozenset(
            other.task_id
            for other in self.tasks
            if other.task_id != task.task_id
            and (
                set(task.danger) & {*other.danger, *other.files}
                or set(other.danger) & {*task.danger, *task.files}
            )
        )
