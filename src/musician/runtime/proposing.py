"""Writes proposals as files where people find them, and puts accepted ones in their place (D21, D25).

The database has the proposal before its file exists, and is authoritative; the file is for people. A file
that somebody has edited is left as it is. Everything is written in the main working tree, whole or not at
all, and committed by nobody but the user.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from musician import service
from musician.agents.port import ProposalMade
from musician.processes.output import one_line
from musician.processes.whole_file import write_whole
from musician.protocol.claim import Claim
from musician.protocol.errors import BadField, ClaimLost, MusicianError, TreeNotReady
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.landing import LANDS, has_landed, page_name, render_page, render_section
from musician.protocol.proposals import MOST_TEXT_CHARS, Draft, parse_type, read_draft
from musician.protocol.values import dataclass
from musician.runtime.task_files import TaskFiles
from musician.service.proposals import KeptProposal
from musician.store.port import Store
from musician.trees.root import Root

_MOST_TROUBLE_CHARS = 500
MOST_FILE_BYTES = 4 * MOST_TEXT_CHARS
"""Of a file that a proposal's text is read from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where proposals are made and decided. All calls block."""

    root: Root
    store: Store

    def propose(self, claim: Claim, draft: Draft) -> KeptProposal:
        """Keep a musician's proposal and write its file; a proposal that its task has made before stays as it
        was.
        """
        folder = self.root.proposals_dir
        taken = set(os.listdir(folder)) if folder.is_dir() else set()
        kept, entry = service.propose(
            self.store, claim, draft, folder=folder.relative_to(self.root.path).as_posix(), taken=taken
        )
        if entry is not None:
            write_whole(self._file(kept), kept.row.text)
            _note_in_files(self, claim, entry)
        return kept

    def accept(self, proposal_id: int, *, session_id: str | None) -> tuple[KeptProposal, str]:
        """Put a proposal in its place and close it; return the proposal, and the file that was changed or
        made.
        """
        kept = service.accept_proposal(self.store, proposal_id, self._land, session_id=session_id)
        self._rewrite(kept, kept.row.text)
        return kept, kept.row.outcome

    def reject(self, proposal_id: int, reason: str, *, session_id: str | None) -> KeptProposal:
        kept = service.reject_proposal(self.store, proposal_id, reason, session_id=session_id)
        self._rewrite(kept, kept.row.text)
        return kept

    def merge(
        self, proposal_id: int, into_id: int, *, session_id: str | None
    ) -> tuple[KeptProposal, KeptProposal]:
        """Merge two proposals; return the closed one and the one that has the text of both now."""
        before = service.find_proposal(self.store, into_id)
        closed, kept = service.merge_proposal(self.store, proposal_id, into_id, session_id=session_id)
        self._rewrite(closed, closed.row.text)
        self._rewrite(kept, before.row.text)
        return closed, kept

    def _file(self, kept: KeptProposal) -> Path:
        return self.root.path / kept.row.path

    def _rewrite(self, kept: KeptProposal, before: str) -> None:
        """Update the proposal's file, unless somebody has edited it."""
        file = self._file(kept)
        if not file.exists() or file.read_bytes() == before.encode():
            write_whole(file, kept.proposal.render())

    def _land(self, kept: KeptProposal) -> str:
        place = LANDS[kept.proposal.type]
        if place.is_section:
            self._append(place.path, render_section(kept.proposal, kept.row.path).replace("\r\n", "\n"))
            return place.path
        page = render_page(kept.proposal, kept.row.path)
        return self._add_page(place.path, partial(page_name, kept.proposal), page)

    def _append(self, name: str, section: str) -> None:
        """Add a section at the end of a file, which may be a link to another file of the project."""
        file = self._inside(self.root.path / name)
        text = _read(file) if file.exists() else ""
        line_end = "\r\n" if "\r\n" in text else "\n"
        if has_landed(section, text.replace("\r\n", "\n")):
            return
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        write_whole(file, text + (gap + section).replace("\n", line_end))

    def _add_page(self, folder: str, name: Callable[[int], str], page: str) -> str:
        number = 1
        while True:
            path = f"{folder}/{name(number)}"
            file = self._inside(self.root.path / path)
            if not os.path.lexists(file):
                write_whole(file, page)
                return path
            if file.is_file() and file.read_bytes() == page.encode():
                return path  # written by an acceptance that was interrupted
            number += 1

    def _inside(self, path: Path) -> Path:
        """Resolve a path; :class:`TreeNotReady` if it leads outside of the project (B43)."""
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(self.root.path):
            raise TreeNotReady(
                reason="it leads out of the project, where nothing is written",
                paths=(str(path.relative_to(self.root.path)),),
                remedy="put a file of the project there, or add the proposal's text yourself and reject it",
            )
        return real


def keep_made(desk: Desk, claim: Claim, tree: Path, made: ProposalMade) -> None:
    """Keep what an agent proposed while it played in ``tree``.

    A proposal that cannot be kept becomes a note in the journal and does not end the piece. A lost claim
    shows in the session's own next write.
    """
    try:
        desk.propose(claim, _draft_of(made, tree))
    except ClaimLost:
        return
    except (MusicianError, OSError) as error:
        said = one_line(f"proposal {made.title!r} not kept: {error}", _MOST_TROUBLE_CHARS)
        entry = Entry(kind=EntryKind.NOTE, text=said)
        with suppress(ClaimLost):
            service.record(desk.store, claim, entry)
            _note_in_files(desk, claim, entry)


def _note_in_files(desk: Desk, claim: Claim, entry: Entry) -> None:
    task_files = TaskFiles(desk.root, claim.task_id)
    task_files.begin()
    task_files.note((entry,))


def _draft_of(made: ProposalMade, tree: Path) -> Draft:
    text = made.title if made.path is None else read_body(tree, made.path)
    written = read_draft(text)
    return Draft(
        type=parse_type(made.type),
        title=made.title,
        why="" if written is None else written.why,
        body=text if written is None else written.body,
    )


def read_body(tree: Path, name: str) -> str:
    """Read a text that an agent left in its working tree; :class:`BadField` if ``name`` is no file or leads
    out of it (B43).
    """
    real = Path(os.path.realpath(tree / name))
    if not real.is_relative_to(os.path.realpath(tree)) or not real.is_file():
        raise BadField(field="path", value=name, reason="name a file of the working tree")
    if real.stat().st_size > MOST_FILE_BYTES:
        raise BadField(field="path", value=name, reason=f"use at most {MOST_FILE_BYTES} bytes")
    try:
        return real.read_bytes().decode()
    except UnicodeDecodeError:
        raise BadField(field="path", value=name, reason="it must be UTF-8") from None


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode()
    except UnicodeDecodeError:
        raise TreeNotReady(
            reason="it is not UTF-8, so nothing is added", paths=(str(file),), remedy="store it as UTF-8"
        ) from None
