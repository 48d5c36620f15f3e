"""A provider's limit is the fleet's: stored once, whoever meets it, and a person is asked once."""

from contextlib import closing

import apsw

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.rules.breaker import MOST_IN_VAIN, Giving, Leave
from musician.protocol.settings import Settings
from musician.store.port import Store
from musician.store.queries.limits import Limits
from musician.store.sqlite.store import SqliteStore

TASKS = ("task-01", "task-02", "task-03")


def claims(store: Store, *agents: str) -> list[service.Taken]:
    taken = []
    for task_id, agent in zip(TASKS, agents, strict=False):
        service.open_task(store, task_id, title="t", instruction_path="p.md")
        taken.append(service.claim(store, task_id, f"of-{task_id}", settings=Settings()))
        service.describe_session(store, taken[-1].claim, agent=agent)
    return taken


def closed(store: Store) -> dict[str, Giving]:
    return dict(service.givings(service.closed_accounts(store)))


def leave_to_ask(store: Store, claim: Claim) -> Leave:
    return service.leave_to_ask(store, service.account_of(store, claim.task_id), claim.session_id)


def test_a_limit_that_three_meet_at_once_is_one_and_every_task_of_the_agent_waits(store: Store) -> None:
    taken = claims(store, "claude", "claude", "codex")
    for each in taken[:2] * 2:
        entry = Entry(kind=EntryKind.LIMITED, item="step 1", text="429")
        service.limit(store, each.claim, entry, said_s=None, own_s=300.0)
    assert closed(store) == {"claude": Giving.LIMITED}
    assert [
        0 < service.limited_for_s(store, service.account_of(store, task_id)) <= 300 for task_id in TASKS
    ] == [True, True, False]
    assert service.task_view(store, "task-01").limited_until
    assert not service.task_view(store, "task-03").limited_until
    service.lift(store, taken[0].claim)
    assert closed(store) == {}


def test_of_an_expired_login_one_person_is_asked_once_and_it_holds_until_that_is_settled(
    store: Store,
) -> None:
    taken = claims(store, "claude", "claude", "codex")
    for each in taken:
        service.refuse(store, each.claim, "the login has expired")
    asks = service.open_asks(store)
    assert [(ask.task_id, ask.kind, ask.text) for ask in asks] == [
        ("task-01", "provider", "claude: the login has expired"),
        ("task-03", "provider", "codex: the login has expired"),
    ]
    assert closed(store) == {"claude": Giving.REFUSED, "codex": Giving.REFUSED}
    service.resolve_asks(store, "task-01", "logged in")
    assert closed(store) == {"claude": Giving.UNPROVEN, "codex": Giving.REFUSED}
    service.refuse(store, taken[1].claim, "no credit")
    assert [ask.task_id for ask in service.open_asks(store)] == ["task-03", "task-02"], "and once more, anew"


def test_a_new_run_tries_what_was_refused_again_whatever_plan_it_was_met_in(store: Store) -> None:
    service.refuse(store, claims(store, "claude")[0].claim, "no credit")
    assert service.retry_troubles(store, "another") == 1
    assert closed(store) == {"claude": Giving.UNPROVEN}


def test_a_limit_outlives_a_clock_that_is_set(store: Store) -> None:
    """What lies in the future when the clock goes back holds nobody."""
    service.limit(store, claims(store, "claude")[0].claim, said_s=90.0, own_s=300.0)
    with store.write() as tx:
        now_s = tx.only(Limits.now_s) + 86_400
        tx.run(Limits.keep_limit, account="claude", met_at_s=now_s, until_s=now_s + 90, times=1)
    assert closed(store) == {"claude": Giving.UNPROVEN}
    assert service.limited_for_s(store, "claude") == 0


def test_what_was_given_after_a_clock_was_set_back_ends_the_limit_for_good(store: Store) -> None:
    """LIMIT-13: it came back for all when the clock reached its beginning again."""
    first, second = (each.claim for each in claims(store, "claude", "claude"))
    service.limit(store, first, said_s=3600.0, own_s=300.0)
    set_clock(store, -7200.0)
    assert leave_to_ask(store, first) is Leave.PROBE
    assert leave_to_ask(store, second) is Leave.WAIT
    service.prove(store, "claude")
    assert leave_to_ask(store, second) is Leave.FREE
    set_clock(store, 7800.0)
    assert closed(store) == {}
    assert leave_to_ask(store, second) is Leave.FREE


def set_clock(store: Store, by_s: float) -> None:
    """Set the clock by so much: which is to move all that is stored the other way."""
    assert isinstance(store, SqliteStore)
    with closing(apsw.Connection(str(store.path))) as raw:
        raw.execute("UPDATE limits SET met_at_s = met_at_s - ?1, until_s = until_s - ?1", (by_s,))
        raw.execute("UPDATE limits SET probed_at_s = probed_at_s - ?", (by_s,))


def test_a_provider_that_was_waited_for_in_vain_is_a_persons_to_know_and_the_next_run_counts_anew(
    store: Store,
) -> None:
    """LIMIT-12."""
    claim = claims(store, "claude")[0].claim
    over(store, times=MOST_IN_VAIN - 1)
    assert service.why_not_wait(store, "claude") == ""
    over(store, times=MOST_IN_VAIN)
    said = f"it was waited for {MOST_IN_VAIN} times in a row, and has given nothing"
    assert service.why_not_wait(store, "claude") == said
    assert service.why_not_wait(store, "codex") == ""
    service.refuse(store, claim, said)
    assert "a person was asked" in service.why_not_wait(store, "claude"), "the others that wait with it"
    assert service.retry_troubles(store, "another") == 1
    assert service.why_not_wait(store, "claude") == ""


def over(store: Store, account: str = "claude", times: int = 1) -> None:
    """The limit is over."""
    with store.write() as tx:
        now_s = tx.only(Limits.now_s)
        tx.run(Limits.keep_limit, account=account, met_at_s=now_s - 90, until_s=now_s - 1, times=times)


def test_after_a_limit_one_session_asks_first_and_the_others_when_it_was_given_something(
    store: Store,
) -> None:
    """LIMIT-5."""
    first, second, other = (each.claim for each in claims(store, "claude", "claude", "codex"))
    assert leave_to_ask(store, first) is Leave.FREE
    service.limit(store, first, said_s=90.0, own_s=300.0)
    assert leave_to_ask(store, second) is Leave.WAIT
    over(store)
    assert leave_to_ask(store, second) is Leave.PROBE
    assert leave_to_ask(store, first) is Leave.WAIT
    assert leave_to_ask(store, second) is Leave.PROBE, "for each of its pieces"
    assert leave_to_ask(store, other) is Leave.FREE
    service.prove(store, "claude")
    assert leave_to_ask(store, first) is Leave.FREE
    assert closed(store) == {}


def test_a_probe_that_meets_the_limit_again_holds_the_others_and_what_was_given_before_proves_nothing(
    store: Store,
) -> None:
    """LIMIT-5."""
    first, second = (each.claim for each in claims(store, "claude", "claude"))
    service.limit(store, first, said_s=90.0, own_s=300.0)
    service.prove(store, "claude")  # by an answer to a request that was older
    assert leave_to_ask(store, second) is Leave.WAIT
    over(store)
    assert leave_to_ask(store, first) is Leave.PROBE
    service.limit(store, first, said_s=90.0, own_s=300.0)
    assert closed(store) == {"claude": Giving.LIMITED}
    over(store)
    assert leave_to_ask(store, second) is Leave.PROBE, "whoever comes first then"


def test_agents_of_two_names_on_one_account_share_its_limit_its_reset_and_its_expired_login(
    store: Store,
) -> None:
    """LIMIT-6."""
    one, other, alone = (each.claim for each in claims(store, "claude", "acp:claude-agent-acp", "claude"))
    service.describe_session(store, other, agent="acp:claude-agent-acp", account="claude")
    service.describe_session(store, one, agent="codex", account="claude")
    service.describe_session(store, one, agent="claude")
    assert service.account_of(store, one.task_id) == "claude", "of the agent that it is now"
    service.describe_session(store, one, agent="claude", account="other")
    service.describe_session(store, one, agent="claude")
    service.describe_session(store, alone, agent="claude", account="private")
    service.limit(store, one, said_s=90.0, own_s=300.0)
    (found,) = service.closed_accounts(store)
    assert (found.account, found.giving) == ("claude", Giving.LIMITED)
    views = [service.task_view(store, each.task_id) for each in (one, other)]
    assert {(view.limited_until, view.limited_account) for view in views} == {(found.until, "claude")}
    assert leave_to_ask(store, other) is Leave.WAIT
    assert leave_to_ask(store, alone) is Leave.FREE, "the same agent, by another login"
    over(store)
    assert leave_to_ask(store, other) is Leave.PROBE
    assert leave_to_ask(store, one) is Leave.WAIT
    service.refuse(store, other, "the login has expired")
    service.refuse(store, one, "the login has expired")
    assert [(ask.task_id, ask.text) for ask in service.open_asks(store)] == [
        ("task-02", "claude: the login has expired")
    ]
    assert closed(store) == {"claude": Giving.REFUSED}


def test_what_an_agent_without_a_claim_meets_holds_for_all_on_its_account(store: Store) -> None:
    """LIMIT-7."""
    (taken,) = claims(store, "claude")
    service.limit_account(store, "claude", said_s=None, own_s=300.0)
    assert leave_to_ask(store, taken.claim) is Leave.WAIT
    service.refuse_account(store, "claude", "task-01", "no credit")
    assert [(ask.task_id, ask.kind, ask.text) for ask in service.open_asks(store)] == [
        ("task-01", "provider", "claude: no credit")
    ]
