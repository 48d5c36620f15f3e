"""What a provider does not give, through whole runs of the real client: parked, and never failed (issue 9.3)."""

import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from musician.protocol.journal import EntryKind
from musician.protocol.rules.breaker import MOST_IN_VAIN
from musician.protocol.states import State
from musician.service import TaskView
from musician.store.opening import open_store
from musician.store.queries.limits import Limits
from musician.testing import Received, Reply, ScriptedFailure, say
from musician.testing.client_home import MADE_UP_KEY
from musician.testing.script import Step
from musician.testing.waiting import until
from tests.agents.whole_run import House, claude_shell, house

PLAN = """\
---
plan: one
agent: claude
test: test -s one.txt
---
# One

## Overview
One file.

## Phase 1: All of it
### task-01: Write it
#### Step 1: Write it
Write one.txt.
"""


SHORT_OF_ITS_OWN = "[waiting]\nlimit_s = 0.5\n"
"""What waits longer believes its provider. So does the run where a busy machine hears of a reset when it is over."""


class Provider:
    """Gives nothing while ``fails`` says how; otherwise its model writes the file."""

    def __init__(self, fails: Callable[[], ScriptedFailure | None]) -> None:
        self.fails = fails
        self.asked_at_s: list[float] = []
        self.conversations: set[str] = set()

    def __call__(self, received: Received) -> Step:
        self.asked_at_s.append(time.time())
        self.conversations.add(received.session_id)
        failure = self.fails()
        if failure is not None:
            return failure
        if received.answers:
            return say("done.")
        return Reply(uses=(claude_shell("echo one > one.txt"),))


class Quota:
    """A subscription's: used up from the first request on, until a time that the provider's headers say.

    While ``is_met`` is false it is used up anew whenever it is asked: so long that everybody meets it who should.
    """

    def __init__(self, holds_s: float, *, is_met: Callable[[], bool] = lambda: True) -> None:
        self.holds_s, self._is_met = holds_s, is_met
        self.resets_at_s = 0

    def __call__(self) -> ScriptedFailure | None:
        is_met = self._is_met()
        if not (self.resets_at_s and is_met):
            self.resets_at_s = int(time.time() + self.holds_s)
        elif time.time() >= self.resets_at_s:
            return None
        headers = {
            "anthropic-ratelimit-unified-status": "rejected",
            "anthropic-ratelimit-unified-reset": str(self.resets_at_s),
            "anthropic-ratelimit-unified-representative-claim": "five_hour",
            "retry-after": str(self.resets_at_s - int(time.time())),
        }
        return ScriptedFailure(status=429, kind="rate_limit_error", message="no more", headers=headers)


def subscribed(found: House) -> House:
    """With a subscription's token, made up, in place of a key: only then the client says when a limit is over."""
    del found.env["ANTHROPIC_API_KEY"]
    found.env["CLAUDE_CODE_OAUTH_TOKEN"] = MADE_UP_KEY
    return found


def is_unfailed(view: TaskView) -> bool:
    failures = (EntryKind.FAILED, EntryKind.ERROR)
    return view.error_count == 0 and not any(row.kind in failures for row in view.journal)


def limits_of(view: TaskView) -> list[str]:
    return [row.text for row in view.journal if row.kind == EntryKind.LIMITED]


@pytest.mark.deep
def test_a_quota_that_says_when_it_is_over_parks_the_session_until_then_and_it_goes_on_by_itself(
    tmp_path: Path,
) -> None:
    """LIMIT-1."""
    quota = Quota(holds_s=4)
    provider = Provider(quota)
    with house(tmp_path, PLAN, provider, settings=SHORT_OF_ITS_OWN) as found:
        told = subscribed(found).run("run", "PLAN.md")
        view = found.view()
    assert view.row.state is State.COMPLETE, told
    assert len(limits_of(view)) == 1
    assert is_unfailed(view)
    assert not view.asks
    (refused, *later) = provider.asked_at_s
    assert refused < quota.resets_at_s <= later[0], "nothing was asked before it was over"
    assert len(view.sessions) == len(provider.conversations) == 1, "the same session, the same conversation"


@pytest.mark.deep
def test_an_overload_is_waited_for_by_a_pause_of_the_programs_own(tmp_path: Path) -> None:
    """LIMIT-2: 529 says nothing of its end."""
    overload = ScriptedFailure(status=529, kind="overloaded_error", message="busy")
    provider = Provider(lambda: overload if len(provider.asked_at_s) <= 3 else None)
    with house(tmp_path, PLAN, provider, settings="[waiting]\nlimit_s = 0.5\n") as found:
        told = found.run("run", "PLAN.md")
        view = found.view()
    assert view.row.state is State.COMPLETE, told
    assert limits_of(view)
    assert is_unfailed(view)
    assert len(view.sessions) == 1


@pytest.mark.deep
@pytest.mark.parametrize(
    "failure",
    [
        ScriptedFailure(status=401, kind="authentication_error", message="who are you"),
        ScriptedFailure(status=402, kind="billing_error", message="no credit"),
    ],
    ids=["401", "402"],
)
def test_a_login_that_has_expired_and_an_empty_account_ask_a_person_and_the_next_run_goes_on(
    tmp_path: Path, failure: ScriptedFailure
) -> None:
    """LIMIT-3."""
    provider = Provider(lambda: failure)
    with house(tmp_path, PLAN, provider) as found:
        told = found.run("run", "PLAN.md", code=1)
        view = found.view()
        assert [ask.kind for ask in view.asks] == ["provider"], told
        assert is_unfailed(view)
        assert len(view.sessions) == 1
        provider.fails = lambda: None
        found.run("run", "PLAN.md")
        view = found.view()
    assert view.row.state is State.COMPLETE
    assert is_unfailed(view)


@pytest.mark.deep
def test_a_conductor_that_is_killed_while_its_musician_is_parked_asks_nothing_before_the_reset_either(
    tmp_path: Path,
) -> None:
    """LIMIT-4: the reset is stored; the next conductor knows it, and goes on in the same conversation."""
    quota = Quota(holds_s=8)
    provider = Provider(quota)
    with house(tmp_path, PLAN, provider, settings=SHORT_OF_ITS_OWN) as found:
        subscribed(found).run("plan", "lock", "PLAN.md")
        first = found.start("run", "PLAN.md")
        until(lambda: limits_of(found.view()))
        first.send_signal(signal.SIGKILL)
        first.communicate()
        told = found.run("run", "PLAN.md")
        view = found.view()
    assert view.row.state is State.COMPLETE, told
    assert is_unfailed(view)
    (refused, *later) = provider.asked_at_s
    assert refused < quota.resets_at_s <= later[0]
    assert len(provider.conversations) == 1


class Judging(Provider):
    """Its quota is used up once the reviewing agent asks; that is of another name, and on the same account."""

    def __call__(self, received: Received) -> Step:
        if "Judge what was submitted" not in received.all_text:
            fails, self.fails = self.fails, lambda: None
            try:
                return super().__call__(received)
            finally:
                self.fails = fails
        self.asked_at_s.append(time.time())
        return self.fails() or say("::verdict approve")


@pytest.mark.deep
def test_a_limit_that_the_reviewing_agent_meets_parks_the_review_and_asks_nobody(tmp_path: Path) -> None:
    """LIMIT-7: it was a review without a verdict, and waited for a person."""
    seen = threading.Event()
    quota = Quota(holds_s=4, is_met=seen.is_set)
    provider = Judging(quota)
    plan = PLAN.replace("agent: claude", "agent: claude\naccount: ours\nreview: agent")
    with house(tmp_path, plan, provider, settings=SHORT_OF_ITS_OWN) as found:
        started = subscribed(found).start("run", "PLAN.md")
        until(lambda: "account ours is given nothing before" in found.run("status"))
        seen.set()
        told = found.done(started)
        view = found.view()
    assert view.row.state is State.COMPLETE, told
    assert not view.asks
    assert provider.asked_at_s[-1] >= quota.resets_at_s


PAIR = f"""{PLAN}### task-02: Write another
#### Step 1: Write it
Write two.txt.
"""


@pytest.mark.deep
def test_who_stops_a_parked_session_lifts_the_limit_of_nobody(tmp_path: Path) -> None:
    """LIMIT-16."""
    refused = ScriptedFailure(status=429, kind="rate_limit_error", message="no more")
    provider = Provider(lambda: refused)
    with house(tmp_path, PAIR, provider, settings="[waiting]\nlimit_s = 3600\n") as found:
        found.run("plan", "lock", "PLAN.md")
        started = found.start("run", "PLAN.md")
        until(lambda: all(limits_of(found.view(task)) for task in ("task-01", "task-02")))
        found.run("stop", "task-01")
        until(lambda: found.view().row.state is State.EXITED)
        assert "account claude is given nothing before" in found.run("status")
        started.terminate()
        found.done(started, code=130)
        stopped = found.view()
    assert [ask.kind for ask in stopped.asks] == ["stopped"]
    assert sum(row.kind == EntryKind.LIMITED for row in stopped.journal) == 1, "it has begun nothing more"


class Slow(Provider):
    """Its first answer after the quota takes a while, in which nobody else may ask."""

    def __init__(self, fails: Callable[[], ScriptedFailure | None]) -> None:
        super().__init__(fails)
        self.refused: set[str] = set()
        self.probes: list[tuple[str, float]] = []

    def __call__(self, received: Received) -> Step:
        step = super().__call__(received)
        if isinstance(step, ScriptedFailure):
            self.refused.add(received.session_id)
            return step
        self.probes.append((received.session_id, self.asked_at_s[-1]))
        if len(self.probes) == 1:
            return replace(step, delay_s=3.0)
        return step


@pytest.mark.deep
def test_after_a_quota_one_asks_first_and_the_other_when_it_was_given_something(tmp_path: Path) -> None:
    """LIMIT-5: both were parked, and both go on."""
    provider = Slow(Quota(holds_s=6, is_met=lambda: len(provider.refused) == 2))
    with house(tmp_path, PAIR, provider, settings=SHORT_OF_ITS_OWN) as found:
        told = subscribed(found).run("run", "PLAN.md")
        views = [found.view("task-01"), found.view("task-02")]
    assert {view.row.state for view in views} == {State.COMPLETE}, told
    assert all(limits_of(view) and is_unfailed(view) for view in views), told
    (first, begun_at_s), *later = provider.probes
    assert min(at_s for session, at_s in later if session != first) >= begun_at_s + 3.0


@pytest.mark.deep
def test_a_provider_that_gives_nothing_however_often_it_is_waited_for_is_told_to_a_person_once(
    tmp_path: Path,
) -> None:
    """LIMIT-12: all on it were parked for ever, and nobody was asked."""
    overload = ScriptedFailure(status=529, kind="overloaded_error", message="busy")
    provider = Provider(lambda: overload)
    with house(tmp_path, PAIR, provider, settings="[waiting]\nlimit_s = 0.5\n") as found:
        found.run("plan", "lock", "PLAN.md")
        started = found.start("run", "PLAN.md")
        until(lambda: all(limits_of(found.view(task)) for task in ("task-01", "task-02")))
        with closing(open_store(found.project / ".musician" / "comms.db")) as store, store.write() as tx:
            now_s = tx.only(Limits.now_s)
            tx.run(Limits.keep_limit, account="claude", met_at_s=now_s, until_s=now_s, times=MOST_IN_VAIN)
        told = found.done(started, code=1)
        views = [found.view("task-01"), found.view("task-02")]
        (ask,) = (ask for view in views for ask in view.asks)
        assert ask.kind == "provider"
        assert "waited for 10 times in a row, and has given nothing: " in ask.text
        assert all(is_unfailed(view) for view in views)
        assert "musician run PLAN.md" in told
        provider.fails = lambda: None
        found.run("run", "PLAN.md")
        views = [found.view("task-01"), found.view("task-02")]
    assert {view.row.state for view in views} == {State.COMPLETE}
    assert all(is_unfailed(view) for view in views)
