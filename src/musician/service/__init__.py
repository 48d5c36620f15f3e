"""The verbs of the protocol: each loads, decides and commits in one transaction.

A verb takes the store first. An owner's verb names its :class:`~musician.protocol.claim.Claim`; a conductor's acts
as ``task-00``. A refusal is a typed error and changes nothing. The message is written before the state (D5) and
waiters are rung after the commit. Where do we …

- claim? ``claiming``; beat, find a session's claims? ``claims``
- follow a session that somebody opened in a client? ``clients``; to its next id? ``rebinding``; its subagents?
  ``subagents``
- write down what a session did? ``work``
- submit, report, ask? ``submissions``
- end a session or a task? ``endings``
- judge, stop, hand over, take over? ``verdicts``, ``takeover``
- send and read messages? ``inbox``
- grant what a musician may not do by itself, write down what was refused? ``inbox``, ``permits``
- lock a plan, open its tasks? ``plans``
- hold the conductor's own row? ``conducting``
- decide whether a client's session may stop? ``gating``
- record what a person must decide? ``people``
- propose what is worth keeping, and decide on it? ``proposals``; near-duplicates: ``likeness``
- keep what a reviewing agent said? ``opinions``
- have a phase stand still, and go on? ``pausing``
- tell the database's guards what they must know of the settings? ``settling``
- see what is out of the ordinary? ``anomalies``; how smoothly it goes? ``smoothness``
- look? ``views``; a watcher's look: ``looking``
- run a session's own SQL? ``rawwork``

A verb's module is imported when the verb is first asked for: a hook or a short command uses two or three of them, and
importing all would take longer than all that it does.
"""

from typing import TYPE_CHECKING

from musician.on_demand import on_demand

if TYPE_CHECKING:
    from musician.service.anomalies import anomalies_in, anomalies_now
    from musician.service.claiming import Taken, block_claim, claim
    from musician.service.claims import beat, claims_of, current_claim, sole_claim
    from musician.service.clients import (
        CLEARED,
        Met,
        claims_of_process,
        client_identity,
        client_of,
        current_session,
        end_client,
        meet_client,
        note_client_failure,
        session_of_process,
        tell_conductor,
        warn_client,
    )
    from musician.service.conducting import (
        Conducting,
        beat_conductor,
        finish_conducting,
        interrupt_conducting,
        start_conducting,
    )
    from musician.service.endings import (
        approved_work,
        complete,
        exit_task,
        leave_handoff,
        moved_by_others,
        overtaken,
    )
    from musician.service.following import Change, Page, changes_since, every_change, newest_seq
    from musician.service.gating import Stop, Stops, count_stop, duty_of, let_go
    from musician.service.inbox import acknowledge, deliver, future_messages, send, undelivered, unread
    from musician.service.looking import Look, look
    from musician.service.opinions import as_opinion, keep_opinion
    from musician.service.pausing import go_on, pause
    from musician.service.people import ask_human, open_asks, resolve_asks, retry_troubles
    from musician.service.permits import grants_of, note_refusal, urgent_messages, was_taken
    from musician.service.plans import (
        amend_plan,
        baseline_text,
        keep_baseline,
        lock_plan,
        open_task,
        plan_row,
        settings_text,
    )
    from musician.service.proposals import (
        accept_proposal,
        find_proposal,
        list_proposals,
        merge_proposal,
        open_proposals_of,
        propose,
        reject_proposal,
        unsubmitted_proposals,
    )
    from musician.service.rawwork import execute, query
    from musician.service.rebinding import rebind
    from musician.service.settling import guarded, keep_settings, kept_settings
    from musician.service.smoothness import PhaseSmoothness, smoothness_by_phase
    from musician.service.subagents import (
        Subagent,
        begin_subagent,
        end_subagent,
        end_subagents_but,
        running_subagents,
    )
    from musician.service.submissions import announce, ask, report, resume, submit
    from musician.service.takeover import fence, hand_over, reopen, take_over, withdraw
    from musician.service.verdicts import grant_retries, judge, request_exit
    from musician.service.views import (
        TaskView,
        clock_s,
        conductor_row,
        everything,
        history_of,
        messages_of,
        now,
        open_question,
        siblings,
        task_row,
        task_view,
        tasks_of,
    )
    from musician.service.work import (
        Beginning,
        as_entry,
        begin_piece,
        beginning_of,
        context_of,
        describe_session,
        journal_of,
        measure_context,
        open_deviations_in,
        open_rows,
        progress_of,
        record,
        record_process,
        store_verification,
    )

__all__ = [
    "CLEARED",
    "Beginning",
    "Change",
    "Conducting",
    "Look",
    "Met",
    "Page",
    "PhaseSmoothness",
    "Stop",
    "Stops",
    "Subagent",
    "Taken",
    "TaskView",
    "accept_proposal",
    "acknowledge",
    "amend_plan",
    "announce",
    "anomalies_in",
    "anomalies_now",
    "approved_work",
    "as_entry",
    "as_opinion",
    "ask",
    "ask_human",
    "baseline_text",
    "beat",
    "beat_conductor",
    "begin_piece",
    "begin_subagent",
    "beginning_of",
    "block_claim",
    "changes_since",
    "claim",
    "claims_of",
    "claims_of_process",
    "client_identity",
    "client_of",
    "clock_s",
    "complete",
    "conductor_row",
    "context_of",
    "count_stop",
    "current_claim",
    "current_session",
    "deliver",
    "describe_session",
    "duty_of",
    "end_client",
    "end_subagent",
    "end_subagents_but",
    "every_change",
    "everything",
    "execute",
    "exit_task",
    "fence",
    "find_proposal",
    "finish_conducting",
    "future_messages",
    "go_on",
    "grant_retries",
    "grants_of",
    "guarded",
    "hand_over",
    "history_of",
    "interrupt_conducting",
    "journal_of",
    "judge",
    "keep_baseline",
    "keep_opinion",
    "keep_settings",
    "kept_settings",
    "leave_handoff",
    "let_go",
    "list_proposals",
    "lock_plan",
    "look",
    "measure_context",
    "meet_client",
    "merge_proposal",
    "messages_of",
    "moved_by_others",
    "newest_seq",
    "note_client_failure",
    "note_refusal",
    "now",
    "open_asks",
    "open_deviations_in",
    "open_proposals_of",
    "open_question",
    "open_rows",
    "open_task",
    "overtaken",
    "pause",
    "plan_row",
    "progress_of",
    "propose",
    "query",
    "rebind",
    "record",
    "record_process",
    "reject_proposal",
    "reopen",
    "report",
    "request_exit",
    "resolve_asks",
    "resume",
    "retry_troubles",
    "running_subagents",
    "send",
    "session_of_process",
    "settings_text",
    "siblings",
    "smoothness_by_phase",
    "sole_claim",
    "start_conducting",
    "store_verification",
    "submit",
    "take_over",
    "task_row",
    "task_view",
    "tasks_of",
    "tell_conductor",
    "undelivered",
    "unread",
    "unsubmitted_proposals",
    "urgent_messages",
    "warn_client",
    "was_taken",
    "withdraw",
]

if not TYPE_CHECKING:  # where types are checked, a name that is not listed above is a mistake
    __getattr__ = on_demand(
        __name__,
        {
            "anomalies": ("anomalies_in", "anomalies_now"),
            "claiming": ("Taken", "block_claim", "claim"),
            "claims": ("beat", "claims_of", "current_claim", "sole_claim"),
            "clients": (
                "CLEARED",
                "Met",
                "claims_of_process",
                "client_identity",
                "client_of",
                "current_session",
                "end_client",
                "meet_client",
                "note_client_failure",
                "session_of_process",
                "tell_conductor",
                "warn_client",
            ),
            "rebinding": ("rebind",),
            "conducting": (
                "Conducting",
                "beat_conductor",
                "finish_conducting",
                "interrupt_conducting",
                "start_conducting",
            ),
            "endings": (
                "approved_work",
                "complete",
                "exit_task",
                "leave_handoff",
                "moved_by_others",
                "overtaken",
            ),
            "following": ("Change", "Page", "changes_since", "every_change", "newest_seq"),
            "gating": ("Stop", "Stops", "count_stop", "duty_of", "let_go"),
            "inbox": ("acknowledge", "deliver", "future_messages", "send", "undelivered", "unread"),
            "looking": ("Look", "look"),
            "opinions": ("as_opinion", "keep_opinion"),
            "pausing": ("go_on", "pause"),
            "people": ("ask_human", "open_asks", "resolve_asks", "retry_troubles"),
            "permits": ("grants_of", "note_refusal", "urgent_messages", "was_taken"),
            "plans": (
                "amend_plan",
                "baseline_text",
                "keep_baseline",
                "lock_plan",
                "open_task",
                "plan_row",
                "settings_text",
            ),
            "proposals": (
                "accept_proposal",
                "find_proposal",
                "list_proposals",
                "merge_proposal",
                "open_proposals_of",
                "propose",
                "reject_proposal",
                "unsubmitted_proposals",
            ),
            "rawwork": ("execute", "query"),
            "settling": ("guarded", "keep_settings", "kept_settings"),
            "smoothness": ("PhaseSmoothness", "smoothness_by_phase"),
            "subagents": (
                "Subagent",
                "begin_subagent",
                "end_subagent",
                "end_subagents_but",
                "running_subagents",
            ),
            "submissions": ("announce", "ask", "report", "resume", "submit"),
            "takeover": ("fence", "hand_over", "reopen", "take_over", "withdraw"),
            "verdicts": ("grant_retries", "judge", "request_exit"),
            "views": (
                "TaskView",
                "clock_s",
                "conductor_row",
                "everything",
                "history_of",
                "messages_of",
                "now",
                "open_question",
                "siblings",
                "task_row",
                "task_view",
                "tasks_of",
            ),
            "work": (
                "Beginning",
                "as_entry",
                "begin_piece",
                "beginning_of",
                "context_of",
                "describe_session",
                "journal_of",
                "measure_context",
                "open_deviations_in",
                "open_rows",
                "progress_of",
                "record",
                "record_process",
                "store_verification",
            ),
        },
    )
