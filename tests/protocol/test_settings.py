"""Settings: the sources' numbers, their bounds, and how they must stand to each other."""

import tomllib
from dataclasses import FrozenInstanceError, replace
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.errors import WrongSettings
from musician.protocol.settings import (
    Conductor,
    Context,
    Described,
    Heartbeat,
    Notify,
    Settings,
    Waiting,
    describe,
    from_mapping,
)

NUMBERS = {
    "heartbeat.refresh_after_s": 480,
    "heartbeat.stale_after_s": 540,
    "heartbeat.skew_tolerance_s": 2,
    "conductor.beat_every_s": 60,
    "waiting.timeout_s": 900,
    "waiting.background_poll_s": 15,
    "waiting.pause_poll_s": 10,
    "waiting.limit_s": 300,
    "context.economy_from_pct": 50,
    "context.handoff_from_pct": 65,
    "context.exit_from_pct": 75,
    "context.ask_from_pct": 70,
    "context.pause_over_pct": 80,
    "context.default_agent_cost_pct": 8,
    "context.self_correction_factor": 6,
    "context.window_tokens": 0,
    "delegation.keep_from_lines": 500,
    "delegation.retries": 2,
    "limits.error_retries": 5,
    "limits.review_rounds": 5,
    "limits.sessions_without_progress": 3,
    **{
        f"ceilings.{scope}_{measure}": 0
        for scope in ("task", "plan", "day")
        for measure in ("cost_usd", "tokens", "turns", "time_s")
    },
    "time.step_limit_s": 3600,
    "time.verification_limit_s": 1800,
    "time.review_limit_s": 1800,
    "time.shutdown_grace_s": 2,
    "time.busy_timeout_s": 30,
    "coverage.least_pct": 80,
    "coverage.target_pct": 90,
    "coverage.explain_drop_pct": 5,
    "validity.least_failing_pct": 1,
    "validity.limit_s": 300,
    "notify.every_s": 60,
}
OTHERS: dict[str, object] = {
    "prompts.subagent_model": "",
    "prompts.test_first": True,
    "prompts.style": "",
    "trees.keep": False,
    "notify.terminal": False,
    "notify.desktop": False,
    "notify.command": "",
    "notify.webhook": "",
    "notify.quiet": "",
}
DEFAULTS = {**NUMBERS, **OTHERS}


def set_one(name: str, value: object) -> Settings:
    section, key = name.split(".")
    return from_mapping({section: {key: value}})


def read(settings: Settings, name: str) -> Any:
    section, key = name.split(".")
    value: Any = getattr(getattr(settings, section), key)
    return value


def size_of(value: float | str) -> float:
    return len(value) if isinstance(value, str) else value


def test_the_defaults_are_the_numbers_of_the_sources() -> None:
    assert {name: read(Settings(), name) for name in DEFAULTS} == DEFAULTS


def test_the_reference_lists_every_setting_once_with_its_default() -> None:
    assert {row.name: row.default for row in describe()} == DEFAULTS
    assert len(describe()) == len(DEFAULTS)


@pytest.mark.parametrize("row", describe(), ids=lambda row: row.name)
def test_a_described_setting_has_a_meaning_and_its_unit_in_its_name(row: Described) -> None:
    assert row.meaning
    assert row.least <= size_of(row.default) <= row.most
    assert row.name.endswith("_s") == (row.unit == "s")
    assert row.name.endswith("_pct") == (row.unit == "%")
    assert row.name.endswith("_lines") == (row.unit == "lines")
    assert row.name.endswith("_usd") == (row.unit == "USD")
    assert row.name.endswith("_tokens") == (row.unit == "tokens")


def test_an_empty_file_gives_the_defaults() -> None:
    assert from_mapping({}) == Settings()
    assert from_mapping({"context": {}}) == Settings()


def test_what_the_file_names_is_set_and_the_rest_stays() -> None:
    text = "[waiting]\ntimeout_s = 1200\n[context]\nexit_from_pct = 77.5\nwindow_tokens = 1_000_000\n"
    settings = from_mapping(tomllib.loads(text))
    assert settings == Settings(
        waiting=Waiting(timeout_s=1200), context=Context(exit_from_pct=77.5, window_tokens=1_000_000)
    )


@pytest.mark.parametrize(
    ("mapping", "name"),
    [
        ({"contxt": {}}, "contxt"),
        ({"stale_after_s": 3}, "stale_after_s"),
        ({"context": 65}, "context"),
        ({"context": [1]}, "context"),
        ({"context": {"exit_pct": 75}}, "context.exit_pct"),
        ({"context": {"section": "heartbeat"}}, "context.section"),
    ],
)
def test_what_is_unknown_is_named(mapping: dict[str, object], name: str) -> None:
    with pytest.raises(WrongSettings) as caught:
        from_mapping(mapping)
    assert caught.value.name == name


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [True, False, "8", None, [8], {"a": 1}, nan, inf, -inf, -1, -0.5, 10**400])
def test_no_setting_takes_a_value_that_is_no_number_or_out_of_bounds(name: str, value: object) -> None:
    with pytest.raises(WrongSettings) as caught:
        set_one(name, value)
    assert caught.value.name == name


@pytest.mark.parametrize("name", NUMBERS)
def test_a_count_takes_no_fraction_and_a_measure_does(name: str) -> None:
    whole = isinstance(read(Settings(), name), int)
    value = NUMBERS[name] + 0.25
    if whole:
        with pytest.raises(WrongSettings, match="whole number") as caught:
            set_one(name, value)
        assert caught.value.name == name
    else:
        assert read(set_one(name, value), name) == value


@pytest.mark.parametrize("row", [row for row in describe() if row.name in NUMBERS], ids=lambda row: row.name)
def test_a_value_just_outside_its_bounds_is_refused(row: Described) -> None:
    step = 1 if isinstance(row.default, int) else 0.001
    for value in (row.least - step, row.most + step):
        with pytest.raises(WrongSettings, match="must be ") as caught:
            set_one(row.name, value)
        assert caught.value.name == row.name


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("value", [1, 0.5, None, ["x"], "x" * 2_001])
def test_no_other_setting_takes_a_number_or_a_text_without_end(name: str, value: object) -> None:
    with pytest.raises(WrongSettings) as caught:
        set_one(name, value)
    assert caught.value.name == name


@pytest.mark.parametrize(
    "quiet", ["22:00", "22-7", "24:00-07:00", "22:60-07:00", "22:00-07:00 ", "٢٢:٠٠-٠٧:٠٠"]
)
def test_quiet_hours_are_two_times(quiet: str) -> None:
    with pytest.raises(WrongSettings, match="two times"):
        set_one("notify.quiet", quiet)


@pytest.mark.parametrize(
    ("quiet", "minutes"),
    [
        ("22:00-07:30", {22 * 60: True, 21 * 60 + 59: False, 0: True, 7 * 60 + 29: True, 7 * 60 + 30: False}),
        ("12:00-13:00", {12 * 60: True, 13 * 60: False, 0: False}),
        ("08:00-08:00", {8 * 60: False, 0: False}),
        ("", {0: False}),
    ],
)
def test_quiet_hours_may_go_over_midnight(quiet: str, minutes: dict[int, bool]) -> None:
    notify = Notify(quiet=quiet)
    assert {minute: notify.is_quiet(minute) for minute in minutes} == minutes


@pytest.mark.parametrize("address", ["example.org", "file:///etc/passwd", "ftp://x"])
def test_a_webhook_is_an_address_of_the_web(address: str) -> None:
    with pytest.raises(WrongSettings, match="http"):
        set_one("notify.webhook", address)
    assert set_one("notify.webhook", "http://127.0.0.1:1/x").notify.webhook == "http://127.0.0.1:1/x"


def test_a_constructor_checks_as_the_file_does() -> None:
    with pytest.raises(WrongSettings) as caught:
        Heartbeat(stale_after_s=-1)
    assert caught.value.name == "heartbeat.stale_after_s"


@pytest.mark.parametrize(
    ("mapping", "name"),
    [
        ({"heartbeat": {"refresh_after_s": 540}}, "heartbeat.refresh_after_s"),
        ({"heartbeat": {"refresh_after_s": 600}}, "heartbeat.refresh_after_s"),
        ({"conductor": {"beat_every_s": 540}}, "conductor.beat_every_s"),
        ({"waiting": {"timeout_s": 15}}, "waiting.background_poll_s"),
        ({"waiting": {"timeout_s": 8, "background_poll_s": 5}}, "waiting.pause_poll_s"),
        ({"context": {"economy_from_pct": 65}}, "context.economy_from_pct"),
        ({"context": {"exit_from_pct": 65}}, "context.handoff_from_pct"),
        ({"context": {"handoff_from_pct": 75}}, "context.handoff_from_pct"),
        ({"context": {"ask_from_pct": 50}}, "context.economy_from_pct"),
        ({"context": {"ask_from_pct": 80}}, "context.ask_from_pct"),
        ({"coverage": {"target_pct": 80}}, "coverage.least_pct"),
        ({"waiting": {"background_poll_s": 60}}, "waiting.background_poll_s"),
        ({"waiting": {"pause_poll_s": 60}}, "waiting.pause_poll_s"),
        ({"heartbeat": {"refresh_after_s": 528}}, "waiting.background_poll_s"),
    ],
)
def test_settings_at_odds_with_each_other_are_refused(mapping: dict[str, object], name: str) -> None:
    with pytest.raises(WrongSettings, match="must be below") as caught:
        from_mapping(mapping)
    assert caught.value.name == name


def test_relations_hold_up_to_the_last_value_below() -> None:
    settings = from_mapping(
        {
            "heartbeat": {"refresh_after_s": 480},
            "conductor": {"beat_every_s": 539.9},
            "waiting": {"background_poll_s": 59.9, "pause_poll_s": 59.9},
            "context": {"economy_from_pct": 64.9, "exit_from_pct": 65.1, "ask_from_pct": 79.9},
        }
    )
    assert settings.conductor == Conductor(beat_every_s=539.9)


def test_a_fast_orchestra_for_tests_can_be_set_up() -> None:
    settings = Settings(
        heartbeat=Heartbeat(refresh_after_s=0.2, stale_after_s=0.5),
        conductor=Conductor(beat_every_s=0.1),
        waiting=Waiting(timeout_s=1, background_poll_s=0.05, pause_poll_s=0.05),
    )
    assert settings.heartbeat.stale_after_s == 0.5


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().context.exit_from_pct = 99  # type: ignore[misc]
    changed = replace(Settings(), context=replace(Settings().context, exit_from_pct=76))
    assert changed != Settings()


@given(st.tuples(*[st.floats(0, 100)] * 5))
def test_thresholds_are_accepted_exactly_when_they_are_in_order(values: tuple[float, ...]) -> None:
    economy, handoff, leave, ask, pause = values
    in_order = economy < handoff < leave and economy < ask < pause
    table = {
        "economy_from_pct": economy,
        "handoff_from_pct": handoff,
        "exit_from_pct": leave,
        "ask_from_pct": ask,
        "pause_over_pct": pause,
    }
    if in_order:
        context = from_mapping({"context": table}).context
        assert {key: getattr(context, key) for key in table} == table
    else:
        with pytest.raises(WrongSettings):
            from_mapping({"context": table})


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)


@given(
    st.dictionaries(
        st.sampled_from([*{name.split(".")[0] for name in DEFAULTS}, "other"]),
        scalars
        | st.dictionaries(st.sampled_from([name.split(".")[1] for name in DEFAULTS]), scalars, max_size=4),
        max_size=4,
    )
)
def test_any_file_gives_valid_settings_or_one_error_that_names_the_place(mapping: dict[str, object]) -> None:
    refusal = None
    settings = Settings()
    try:
        settings = from_mapping(mapping)
    except WrongSettings as error:
        refusal = error
    for row in describe():
        assert row.least <= size_of(read(settings, row.name)) <= row.most
    if refusal is not None:
        assert refusal.name.split(".")[0] in {*(name.split(".")[0] for name in DEFAULTS), "other"}
        assert "\n" not in str(refusal)


@pytest.mark.parametrize("measure", ["cost_usd", "tokens", "turns", "time_s"])
@pytest.mark.parametrize("scope", ["plan", "day"])
def test_a_tasks_ceiling_is_not_above_its_plans_or_the_days(scope: str, measure: str) -> None:
    from_mapping({"ceilings": {f"task_{measure}": 10, f"{scope}_{measure}": 10}})
    from_mapping({"ceilings": {f"task_{measure}": 10}})
    with pytest.raises(WrongSettings, match=f"must not be above ceilings.{scope}_{measure}") as caught:
        from_mapping({"ceilings": {f"task_{measure}": 11, f"{scope}_{measure}": 10}})
    assert caught.value.name == f"ceilings.task_{measure}"


def test_all_that_is_wrong_is_told_at_once() -> None:
    """AUDIT-S8: what is unknown, out of bounds and no number; and all that is at odds, once each value may be."""
    wrong = {
        "contxt": {},
        "heartbeat": {"stale": 1, "refresh_after_s": -1},
        "context": {"exit_from_pct": "75"},
    }
    with pytest.raises(WrongSettings) as caught:
        from_mapping(wrong)
    for name in ("contxt", "heartbeat.stale", "heartbeat.refresh_after_s", "context.exit_from_pct"):
        assert f"setting {name}: " in caught.value.message
    with pytest.raises(WrongSettings) as caught:
        from_mapping({"context": {"exit_from_pct": 60}, "coverage": {"target_pct": 80}})
    for name in ("context.handoff_from_pct", "coverage.least_pct"):
        assert f"setting {name}: " in caught.value.message
