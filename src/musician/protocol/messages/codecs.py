"""How each kind of value is written, read and checked in a message's field (D14)."""

from functools import partial

from musician.protocol.errors import BadField
from musician.protocol.messages.checks import (
    ABSENT,
    MOST_PCT,
    check_count,
    check_line,
    check_optional_line,
    check_optional_path,
    check_pct,
    check_text,
)
from musician.protocol.messages.forms import Codec
from musician.protocol.messages.particulars import (
    AgentsRemaining,
    Counted,
    Deviations,
    KeyOutput,
    Nth,
    SelfCorrection,
    read_estimate,
    read_int,
    read_pct,
    show_int,
    show_pct,
)
from musician.protocol.rules.review import ROUGHEST


def _show_retry(nth: Nth | None) -> str:
    """A wait that timed out is none."""
    return "no retry" if nth is None else f"Retry {nth.number}/{nth.of}"


def _read_retry(text: str) -> Nth | None:
    return Nth.parse(text.removeprefix("Retry "))


def _show_nth(value: Nth | None) -> str:
    return show_int(None) if value is None else f"{value.number} of {value.of}"


def _show_score(value: int | None) -> str:
    return f"{show_int(value)}/{ROUGHEST}"


def _show_outputs(outputs: tuple[KeyOutput, ...]) -> str:
    return "\n".join(("", *(output.render() for output in outputs))) if outputs else "none"


def _read_outputs(text: str) -> tuple[KeyOutput, ...]:
    lines = [line for line in text.split("\n") if line.strip()]
    if [line.strip().lower() for line in lines] in ([], ["none"]):
        return ()
    return tuple(map(KeyOutput.parse, lines))


def _read_optional(text: str) -> str | None:
    return None if text.strip().lower() in ABSENT else text.strip()


def _read_budget(text: str) -> float:
    value = read_pct(text)
    if value is None:
        raise BadField(field="budget_pct", value=text, reason="use 0% to 100%")
    return value


def _check_score(name: str, value: int | None) -> None:
    if value is not None and not 0 <= value <= ROUGHEST:
        raise BadField(field=name, value=value, reason=f"use 0 to {ROUGHEST}")


def _same(text: str) -> str:
    return text


TEXT: Codec[str] = Codec(render=_same, parse=_same, unknown="", check=check_text)
LINE: Codec[str] = Codec(render=_same, parse=str.strip, unknown="", check=check_line)
IN_BRACKETS: Codec[str] = Codec(
    render=lambda text: f" ({text})" if text else "",
    parse=lambda text: text[2:-1],
    unknown="",
    check=check_text,
)
OPTIONAL_LINE: Codec[str | None] = Codec(
    render=lambda line: line or "unknown", parse=_read_optional, unknown=None, check=check_optional_line
)
OPTIONAL_PATH: Codec[str | None] = Codec(
    render=lambda path: path or "N/A", parse=_read_optional, unknown=None, check=check_optional_path
)
COUNT: Codec[int | None] = Codec(render=show_int, parse=read_int, unknown=None, check=check_count)
SCORE: Codec[int | None] = Codec(render=_show_score, parse=read_int, unknown=None, check=_check_score)
PCT: Codec[float | None] = Codec(render=show_pct, parse=read_pct, unknown=None, check=check_pct)
ESTIMATE: Codec[float | None] = Codec(
    render=lambda pct: f"~{show_pct(pct)}",
    parse=read_estimate,
    unknown=None,
    check=partial(check_pct, most=MOST_PCT),
)
BUDGET: Codec[float] = Codec(render=show_pct, parse=_read_budget, unknown=65.0, check=check_pct)
NTH_BY_OF: Codec[Nth | None] = Codec(render=_show_nth, parse=Nth.parse, unknown=None)
RETRY: Codec[Nth | None] = Codec(render=_show_retry, parse=_read_retry, unknown=None)
SELF_CORRECTION: Codec[SelfCorrection] = Codec(
    render=SelfCorrection.render, parse=SelfCorrection.parse, unknown=SelfCorrection(happened=None)
)
DEVIATIONS: Codec[Deviations] = Codec(
    render=Deviations.render, parse=Deviations.parse, unknown=Deviations(count=None)
)
REMAINING: Codec[AgentsRemaining] = Codec(
    render=AgentsRemaining.render, parse=AgentsRemaining.parse, unknown=AgentsRemaining(count=None)
)
COUNTED: Codec[Counted] = Codec(render=Counted.render, parse=Counted.parse, unknown=Counted(count=None))
KEY_OUTPUTS: Codec[tuple[KeyOutput, ...]] = Codec(render=_show_outputs, parse=_read_outputs, unknown=())
