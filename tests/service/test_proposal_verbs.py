"""Proposing and deciding, over every store (sources "Proposal System", D21)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import apsw
import pytest

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.errors import (
    BadField,
    ClaimLost,
    NotConductor,
    ProposalDecided,
    UnknownProposal,
)
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR
from musician.protocol.proposals import Draft, ProposalType, Status
from musician.protocol.states import State
from musician.service.documents import latest_document
from musician.service.proposals import KeptProposal
from musician.service.similarity import alike_among
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from tests.said import evidence, submission

Walk = Callable[..., Claim | None]
FOLDER = "docs/implementation/proposals"
LANDED = "docs/knowledge-base/patterns/x.md"


def draft(
    title: str = "Use fixtures", body: str = "In every test.", why: str = "They are torn down."
) -> Draft:
    return Draft(type=ProposalType.PATTERN, title=title, body=body, why=why)


def working(store: Store, walk: Walk, task_id: str = "task-01") -> Claim:
    claim = walk(store, task_id, State.WORKING, session_id=f"s-{task_id}")
    assert claim is not None
    return claim


def propose(store: Store, claim: Claim | None, made: Draft | None = None, **how: object) -> KeptProposal:
    values: dict[str, object] = {"folder": FOLDER, "taken": (), **how}
    return service.propose(store, claim, made or draft(), **values)[0]  # type: ignore[arg-type]


def land(kept: KeptProposal) -> str:
    return LANDED


def paths(store: Store, task_id: str = "task-01") -> tuple[str, ...]:
    return service.unsubmitted_proposals(store, task_id)


def test_a_proposal_is_kept_with_who_made_it_and_when(store: Store, walk: Walk) -> None:
    claim = working(store, walk)
    kept, entry = service.propose(store, claim, draft(), folder=FOLDER, taken=())
    today = service.now(store)[:10]
    assert kept.row.path == f"{FOLDER}/{today}-use-fixtures.md"
    assert (kept.proposal.task_id, kept.proposal.session_id) == ("task-01", claim.session_id)
    assert (kept.proposal.date, kept.proposal.status, kept.row.decided_at) == (today, Status.OPEN, None)
    assert entry is not None
    assert (
        service.journal_of(store, "task-01")[-1].text
        == entry.text
        == f"proposal created: {kept.row.path} (PATTERN)"
    )
    document = latest_document(store, "task-01", "proposal")
    assert document is not None
    assert (document.path, document.body, document.written_by) == (kept.row.path, kept.row.text, "agent")
    assert service.find_proposal(store, kept.row.id) == kept


def test_a_session_that_lost_its_claim_proposes_nothing(store: Store, walk: Walk) -> None:
    """D2."""
    claim = walk(store, "task-01", State.EXITED)
    with pytest.raises(ClaimLost):
        propose(store, claim)
    assert service.list_proposals(store, only_open=False) == ()


def test_the_conductor_proposes_too(store: Store, walk: Walk) -> None:
    working(store, walk)
    kept = propose(store, None)
    assert (kept.proposal.task_id, kept.proposal.session_id) == (CONDUCTOR, CONDUCTOR)
    assert paths(store) == ()


def test_a_name_is_given_away_once(store: Store, walk: Walk) -> None:
    """Whether a file has it or only the database does."""
    claim = working(store, walk)
    first = propose(store, claim)
    second = propose(store, claim, draft(body="Another thing."))
    name = second.row.path.removesuffix("-2.md")
    assert second.row.path == first.row.path.replace(".md", "-2.md")
    third = propose(store, claim, draft(body="A third."), taken={f"{name}-3.md".rpartition("/")[2]})
    assert third.row.path == f"{name}-4.md"
    assert propose(store, claim, draft(body="Elsewhere."), folder="other/").row.path.startswith("other/2")


def test_the_same_words_again_are_the_same_proposal(store: Store, walk: Walk) -> None:
    """A piece that is played again proposes nothing new, whatever became of its proposal."""
    claim = working(store, walk)
    first = propose(store, claim)
    assert service.propose(store, claim, draft(), folder=FOLDER, taken=()) == (first, None)
    service.reject_proposal(store, first.row.id, "no")
    again = propose(store, claim)
    assert (again.row.id, again.proposal.status) == (first.row.id, Status.REJECTED)
    other = propose(store, working(store, walk, "task-02"))
    assert other.row.id != first.row.id


def test_thirty_proposals_at_once_get_thirty_names(
    open_store: Callable[[], Store], store: Store, walk: Walk
) -> None:
    claims = [working(store, walk, f"task-{number}") for number in range(1, 7)]

    def one(claim: Claim) -> list[str]:
        own = open_store()
        return [propose(own, claim, draft(body=f"{number}")).row.path for number in range(5)]

    with ThreadPoolExecutor(len(claims)) as pool:
        made = [path for some in pool.map(one, claims) for path in some]
    assert len(set(made)) == 30


def test_a_musician_decides_on_nothing(store: Store, walk: Walk) -> None:
    """D21: its own or another's; the place where it would land is not touched."""
    kept = propose(store, working(store, walk))
    other = propose(store, working(store, walk, "task-02"), draft("Another"))
    touched: list[KeptProposal] = []

    def landing(each: KeptProposal) -> str:
        touched.append(each)
        return LANDED

    for session_id in ("s-task-01", "s-task-02", "stranger"):
        with pytest.raises(NotConductor):
            service.accept_proposal(store, kept.row.id, landing, session_id=session_id)
        with pytest.raises(NotConductor):
            service.reject_proposal(store, kept.row.id, "mine", session_id=session_id)
        with pytest.raises(NotConductor):
            service.merge_proposal(store, kept.row.id, other.row.id, session_id=session_id)
    assert touched == []
    assert service.list_proposals(store, only_open=True) == (kept, other)


def test_an_accepted_proposal_knows_where_it_landed(store: Store, walk: Walk) -> None:
    kept = propose(store, working(store, walk))
    accepted = service.accept_proposal(store, kept.row.id, land, session_id=CONDUCTOR)
    assert (accepted.row.status, accepted.row.outcome) == ("accepted", LANDED)
    assert accepted.proposal.status is Status.ACCEPTED
    assert accepted.row.decided_at is not None
    assert accepted.row.text == kept.row.text
    assert service.list_proposals(store, only_open=True) == ()
    assert service.list_proposals(store, only_open=False) == (accepted,)


def test_what_is_decided_stays_decided(store: Store, walk: Walk) -> None:
    claim = working(store, walk)
    accepted, rejected, merged, open_one = (
        propose(store, claim, draft(name)) for name in ("a", "b", "c", "d")
    )
    service.accept_proposal(store, accepted.row.id, land)
    service.reject_proposal(store, rejected.row.id, "no")
    service.merge_proposal(store, merged.row.id, open_one.row.id)
    for each in (accepted, rejected, merged):
        with pytest.raises(ProposalDecided):
            service.accept_proposal(store, each.row.id, land)
        with pytest.raises(ProposalDecided):
            service.reject_proposal(store, each.row.id, "again")
        with pytest.raises(ProposalDecided):
            service.merge_proposal(store, each.row.id, open_one.row.id)
        with pytest.raises(ProposalDecided):
            service.merge_proposal(store, open_one.row.id, each.row.id)
    assert service.find_proposal(store, open_one.row.id).proposal.status is Status.OPEN


def test_a_landing_that_fails_decides_nothing(store: Store, walk: Walk) -> None:
    kept = propose(store, working(store, walk))

    def full_disk(each: KeptProposal) -> str:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        service.accept_proposal(store, kept.row.id, full_disk)
    assert service.find_proposal(store, kept.row.id) == kept


def test_a_rejection_has_a_reason(store: Store, walk: Walk) -> None:
    kept = propose(store, working(store, walk))
    with pytest.raises(BadField):
        service.reject_proposal(store, kept.row.id, " ")
    rejected = service.reject_proposal(store, kept.row.id, "known; it's in '); DROP TABLE")
    assert rejected.proposal.outcome == "known; it's in '); DROP TABLE"


def test_merging_makes_one_of_two(store: Store, walk: Walk) -> None:
    first = propose(store, working(store, walk), draft("Use fixtures"))
    second = propose(store, working(store, walk, "task-02"), draft("Fixtures, please", "Really."))
    closed, kept = service.merge_proposal(store, second.row.id, first.row.id)
    assert (closed.row.status, closed.row.outcome) == ("merged", first.row.path)
    assert kept.proposal.status is Status.OPEN
    assert kept.proposal.body == (
        f"In every test.\n\n---\n\nMerged from `{second.row.path}` (PATTERN, task-02): Fixtures, please\n\nReally."
    )
    assert (kept.row.id, kept.row.path, kept.row.title) == (first.row.id, first.row.path, first.row.title)
    with pytest.raises(BadField):
        service.merge_proposal(store, first.row.id, first.row.id)


def test_an_unknown_proposal_is_unknown(store: Store) -> None:
    for call in (
        lambda: service.find_proposal(store, 7),
        lambda: service.accept_proposal(store, 7, land),
        lambda: service.reject_proposal(store, 7, "no"),
        lambda: service.merge_proposal(store, 7, 8),
    ):
        with pytest.raises(UnknownProposal):
            call()


def test_a_submission_names_what_was_proposed_since_the_one_before(store: Store, walk: Walk) -> None:
    """Sources "Review Request", field Proposal; by message ids, not by seconds."""
    claim = working(store, walk)
    first = propose(store, claim, draft("first"))
    second = propose(store, claim, draft("second"))
    propose(store, working(store, walk, "task-010"), draft("of another task"))
    assert paths(store) == (first.row.path, second.row.path)
    assert paths(store, "task-02") == ()
    service.submit(
        store,
        claim,
        submission(MessageType.REVIEW_REQUEST, "REVIEW REQUEST (Smoothness: 1/9):"),
        verified=evidence(),
    )
    assert paths(store) == ()
    during = propose(store, claim, draft("while it waits"))
    service.judge(store, "task-01", State.REVIEW_APPROVED, "go on")
    service.reject_proposal(store, during.row.id, "no")
    after = propose(store, claim, draft("after"))
    assert paths(store) == (during.row.path, after.row.path)


def test_a_handoff_lists_what_is_undecided(store: Store, walk: Walk) -> None:
    claim = working(store, walk)
    first, second = propose(store, claim, draft("first")), propose(store, claim, draft("second"))
    service.reject_proposal(store, first.row.id, "no")
    assert service.open_proposals_of(store, "task-01") == (f"{second.row.path} (PATTERN)",)


def test_near_duplicates_are_found(store: Store, walk: Walk) -> None:
    claim = working(store, walk)
    one = propose(store, claim, draft("Use fixtures in every database test", "x", "")).row.id
    title = propose(store, claim, draft("In every DATABASE test: use fixtures!", "y" * 30, "")).row.id
    long = "Roll the schema back instead of building it anew; it took nine seconds, now it takes one. " * 60
    body = propose(store, claim, draft("Rollback", long, "")).row.id
    text = propose(store, claim, draft("Schema trick", long.replace("nine", "ten"), "")).row.id
    signs = [propose(store, claim, draft(mark, mark, "")).row.id for mark in ("!!", "??")]
    propose(store, claim, draft("Something else entirely", "Name the port in the settings.", ""))
    found = {(each.of, each.other) for each in alike_among(service.list_proposals(store, only_open=True))}
    assert found == {(one, title), (title, one), (body, text), (text, body)}
    assert not any(number in pair for pair in found for number in signs)
    service.accept_proposal(store, one, land)
    service.reject_proposal(store, body, "no")
    left = alike_among(service.list_proposals(store, only_open=False))
    assert [(each.of, each.other, each.likeness_pct) for each in left] == [(title, one, 100.0)]


def test_raw_sql_changes_no_proposal_that_is_decided(store: Store, walk: Walk) -> None:
    """D6: what holds for every writer. Who decides, raw SQL cannot know."""
    if not isinstance(store, SqliteStore):
        pytest.skip("a trigger's test")
    claim = working(store, walk)
    kept = propose(store, claim)
    service.accept_proposal(store, kept.row.id, land)
    still_open = propose(store, claim, draft("open"))
    for statement in (
        "UPDATE proposals SET status = 'open', outcome = '' WHERE status = 'accepted'",
        "UPDATE proposals SET outcome = 'x' WHERE status = 'accepted'",
        "UPDATE proposals SET session_id = 'thief'",
        "UPDATE proposals SET status = 'rejected'",
        "UPDATE proposals SET status = 'lost', outcome = 'x'",
        "DELETE FROM proposals",
        "REPLACE INTO proposals SELECT * FROM proposals",
    ):
        with pytest.raises(apsw.ConstraintError, match=r"append-only|CHECK|only rise"):
            store.connection.execute(statement)
    assert service.find_proposal(store, still_open.row.id) == still_open
