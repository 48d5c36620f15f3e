"""A task played by the service's verbs, look by look."""

from dataclasses import dataclass, field

from musician import service
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.particulars import AgentsRemaining, Deviations, Nth, SelfCorrection
from musician.protocol.messages.submissions import Completion, ReviewRequest
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.protocol.values import replace
from musician.reporting.events import Reporter
from musician.reporting.standing import Standing
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from tests.said import evidence, farewell

T = "task-01"
NO = SelfCorrection(happened=False)
NONE = Deviations(count=0)


def entry(kind: EntryKind, item: str = "", text: str = "", **more: object) -> Entry:
    return Entry(kind=kind, item=item, text=text, **more)  # type: ignore[arg-type]


def submitted(number: int, of: int) -> ReviewRequest | Completion:
    kind = Completion if number == of else ReviewRequest
    more = {"report": "docs/r.md"} if number == of else {"reason": "checkpoint"}
    return kind(
        checkpoint=Nth(number=number, of=of),
        context_usage_pct=34,
        self_correction=NO,
        deviations=NONE,
        agents_remaining=AgentsRemaining(count=0, each_pct=8, total_pct=0),
        proposal=None,
        summary="done",
        files_modified=1,
        tests="All passing (4 tests)",
        smoothness=2,
        key_outputs=(),
        **more,
    )


def look_at(store: Store, task_id: str = T) -> Standing:
    return Standing(service.task_view(store, task_id))


@dataclass
class Play:
    """Plays a task by the service's verbs, and keeps what a look would have seen after each."""

    store: Store
    task_id: str = T
    looks: list[Standing] = field(default_factory=list)

    def look(self) -> None:
        self.looks.append(look_at(self.store, self.task_id))

    def open(self) -> None:
        service.open_task(self.store, self.task_id, title="Find the way", instruction_path="docs/i.md")
        self.look()

    def claim(self, session: str) -> None:
        self.owner = service.claim(self.store, self.task_id, session, settings=Settings()).claim
        self.look()

    def write(self, *entries: Entry) -> None:
        service.record(self.store, self.owner, *entries)
        self.look()

    def submit(self, number: int, of: int) -> None:
        message = submitted(number, of)
        item = f"checkpoint {number}"
        service.submit(
            self.store,
            self.owner,
            message,
            verified=replace(evidence(), checkpoint=number),
            entries=(
                entry(EntryKind.VERIFIED, item, "All passing (4 tests)"),
                entry(EntryKind.SUBMITTED, item),
            ),
        )
        self.look()

    def say_raw(self, kind: MessageType, text: str, state: State) -> None:
        """By SQL alone, message first."""
        assert isinstance(self.store, SqliteStore)
        self.store.connection.execute(
            "INSERT INTO orchestration_messages (task_id, from_session, message_type, message) VALUES (?, ?, ?, ?)",
            (self.task_id, self.owner.session_id, kind, text),
        )
        self.store.connection.execute(
            "UPDATE orchestration_tasks SET state = ?, last_heartbeat = datetime('now') WHERE task_id = ?",
            (state, self.task_id),
        )
        self.look()

    def judge(self, verdict: State, text: str) -> None:
        service.judge(self.store, self.task_id, verdict, text)
        self.look()

    def resume(self, *entries: Entry) -> None:
        service.resume(self.store, self.owner, *entries)
        self.look()

    def exit(self, reason: str) -> None:
        service.exit_task(
            self.store,
            self.owner,
            farewell(reason, path="temp/h"),
            handoff="next: all",
            entries=(entry(EntryKind.HANDOFF, text="temp/h"),),
        )
        self.look()

    def complete(self) -> None:
        service.complete(
            self.store,
            self.owner,
            report_path="docs/r.md",
            report="done",
            notice="COMPLETED",
            entries=(entry(EntryKind.APPROVED, "checkpoint 2"), entry(EntryKind.NOTE, text="task complete")),
        )
        self.look()


def reporter(store: Store) -> Reporter:
    return Reporter(plan_id="greeter", store=store)
