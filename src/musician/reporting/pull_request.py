"""Writes the text of a pull request from what a task has submitted, and from what became of it."""

from collections.abc import Iterator

from musician import service
from musician.protocol.messages.feedback import RESUBMITTED
from musician.protocol.values import dataclass
from musician.reporting.account import SentBack, TaskAccount
from musician.reporting.markdown import code, titled_list, unlinked
from musician.reporting.wording import duration
from musician.service import TaskView
from musician.store.rows import PlanRow
from musician.verification.findings import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """``body`` is Markdown. Nothing in it calls a person or closes an issue of the forge's."""

    title: str
    body: str


def pull_request_of(
    view: TaskView, account: TaskAccount, sent_back: tuple[SentBack, ...], plan: PlanRow | None
) -> PullRequest:
    return PullRequest(
        title=" ".join((view.row.title or view.row.task_id).split()),
        body="\n".join(_body(view, account, sent_back, plan)).strip() + "\n",
    )


def _body(
    view: TaskView, account: TaskAccount, sent_back: tuple[SentBack, ...], plan: PlanRow | None
) -> Iterator[str]:
    last = next(reversed(view.this_time.submissions), None)
    said = None if last is None else last.said
    summary = account.summary.partition(RESUBMITTED)[0].strip()
    yield unlinked(summary) if summary else "Nothing was submitted yet."
    yield ""
    yield _where(view, account, plan)
    if account.tests:
        yield from titled_list("Tests", [unlinked(account.tests), *_new_tests(account)], level=3)
    if said is not None and said.key_outputs:
        outputs = (f"{code(each.path)} ({each.kind})" for each in said.key_outputs)
        yield from titled_list("What it made", outputs, level=3)
    open_deviations, findings = service.open_rows(view.journal)
    told = [f"{row.severity}, open: {unlinked(row.text)}" for row in open_deviations]
    told += [unlinked(row.text) for row in findings]
    if told:
        yield from titled_list("Other than the plan says, or to be looked at", told, level=3)
    if sent_back:
        yield from titled_list(
            "What was sent back on the way", (unlinked(each.brief) for each in sent_back), level=3
        )


def _where(view: TaskView, account: TaskAccount, plan: PlanRow | None) -> str:
    task = code(view.row.task_id)
    of = f" of plan {code(plan.plan_id)} ({unlinked(plan.title)})" if plan is not None else ""
    how = [account.state.replace("_", " "), counted(account.sessions, "session"), duration(account.took_s)]
    if account.size is not None:
        how.append(f"+{account.size.added} −{account.size.removed} in {counted(account.size.files, 'file')}")
    return f"Task {task}{of}: {', '.join(how)}."


def _new_tests(account: TaskAccount) -> Iterator[str]:
    if account.new_tests:
        yield f"{counted(account.new_tests, 'new or changed test')}"
