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
- judge, stop, hand over, take over? ``verdicts``, ``takeover``; say something to a line of the work? ``comments``
- send and read messages? ``inbox``; tell of conflicts ahead? ``foretelling``
- grant what a musician may not do by itself, write down what was refused? ``inbox``, ``permits``
- lock a plan, open its tasks? ``plans``
- hold the conductor's own row? ``conducting``; be the session in which a person conducts? ``conductor_session``
- decide whether a client's session may stop? ``gating``
- record what a person must decide? ``people``; play a task again, or go on without it? ``again``
- propose what is worth keeping, and decide on it? ``proposals``; near-duplicates: ``similarity``
- keep what a reviewing agent said? ``opinions``
- have a phase or a plan stand still, and go on? ``pausing``
- keep a conversation? ``conversations``; wait for a provider's limit? ``limits``
- tell the database's guards what they must know of the settings? ``settling``
- see how smoothly it goes? ``smoothness``; write down what it used? ``spending``
- look? ``views``; at everything: ``snapshot``; a watcher's look: ``observation``
- run a session's own SQL? ``own_sql``

A verb's module is imported when the verb is first asked for: a hook or a short command uses two or three of them, and
importing all would take longer than all that it does.
"""

from typing import TYPE_CHECKING

from musician.on_demand import on_demand

if TYPE_CHECKING:
    from musician.service.again import *
    from musician.service.archiving import *
    from musician.service.claiming import *
    from musician.service.claims import *
    from musician.service.clients import *
    from musician.service.comments import *
    from musician.service.conducting import *
    from musician.service.conductor_session import *
    from musician.service.conversations import *
    from musician.service.endings import *
    from musician.service.following import *
    from musician.service.foretelling import *
    from musician.service.gating import *
    from musician.service.inbox import *
    from musician.service.limits import *
    from musician.service.observation import *
    from musician.service.opinions import *
    from musician.service.own_sql import *
    from musician.service.pausing import *
    from musician.service.people import *
    from musician.service.permits import *
    from musician.service.plans import *
    from musician.service.proposals import *
    from musician.service.rebinding import *
    from musician.service.settling import *
    from musician.service.signing import *
    from musician.service.smoothness import *
    from musician.service.snapshot import *
    from musician.service.spending import *
    from musician.service.subagents import *
    from musician.service.submissions import *
    from musician.service.takeover import *
    from musician.service.verdicts import *
    from musician.service.views import *
    from musician.service.work import *
else:
    __all__, __getattr__ = on_demand(
        __name__,
        {
            "again": "Dependents Retried Skipped retry skip",
            "archiving": "archive_plan archived archives drop_plan dropped forget_dropped restore_plan",
            "claiming": "Taken block_claim claim",
            "claims": "beat claims_of current_claim only_claim",
            "clients": (
                "CLEARED Met claims_of_process client_lives client_of current_session end_client "
                "meet_client note_client_failure recorded_identity session_of_process tell_conductor warn_client"
            ),
            "comments": "add_comment comments_of drop_comment",
            "conducting": (
                "Conducting beat_conductor finish_conducting interrupt_conducting start_conducting"
            ),
            "conductor_session": (
                "begin_conducting check_conducts conducting_session leave_conducting tell_conductor_session"
            ),
            "conversations": "conversation_before conversation_token keep_conversation",
            "endings": "approved_work complete exit_task leave_handoff moved_by_others overtaken",
            "following": "Page PlanChange Source change_with changes_since every_change newest_seq seq_before",
            "foretelling": "foreseen foretell",
            "gating": "Stop Stops allow_stop count_stop duty_of",
            "inbox": "acknowledge deliver future_messages send undelivered unread",
            "limits": "ClosedAccount account_of closed_accounts givings leave_to_ask lift limit limit_account "
            "limited_for_s prove refuse refuse_account why_not_wait",
            "observation": "Observation nudge observe",
            "opinions": "as_opinion keep_opinion",
            "pausing": "PlanPause go_on pause pause_of_plan pause_of_task pause_plan paused_plans resume_plan",
            "people": "ask_human judge_as_person open_asks resolve_asks retry_troubles",
            "permits": "grants_of note_refusal urgent_messages was_taken",
            "plans": (
                "amend_plan base_of_plan baseline_text keep_baseline lock_plan locked_hash open_task plan_row "
                "settings_text"
            ),
            "proposals": (
                "accept_proposal find_proposal list_proposals merge_proposal open_proposals_of propose "
                "reject_proposal unsubmitted_proposals"
            ),
            "own_sql": "execute query",
            "rebinding": "rebind",
            "signing": "Signer judged_by_agents judged_by_persons signed signer_of signers_between signers_of",
            "settling": "guarded keep_settings kept_settings",
            "smoothness": "PhaseSmoothness smoothness_by_phase",
            "snapshot": "Snapshot Waits snapshot_of version_of waits_of",
            "spending": "accounts_of_plan accounts_of_task record_playtime record_usage usage_of_plan",
            "subagents": "begin_subagent end_subagent end_subagents_but running_subagents",
            "submissions": "announce ask report resume submit",
            "takeover": "fence hand_over reopen take_over withdraw",
            "verdicts": "STOP_NOW judge request_exit",
            "views": (
                "PlanViews TaskView all_plans clock_s conductor_row count_plans current_plans everything "
                "has_tasks history_of message_row messages_of names_like newest_messages now open_tasks receipts_of "
                "siblings task_row task_view tasks_of verification_row"
            ),
            "work": (
                "as_entry begin_piece begun_in beginning_of context_of describe_session journal_of "
                "measure_context open_rows programs_at_work record record_process register_program sessions_of"
            ),
        },
    )
