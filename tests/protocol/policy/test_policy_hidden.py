"""Whatever is wrapped around a command, it is judged as what it does (D21)."""

from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.policy.forbidden import Act
from musician.protocol.policy.tool_calls import judge
from tests.protocol.policy.surroundings import HERE, act_of

_PREFIXES = st.sampled_from(
    [
        "env A=1",
        "timeout 9",
        "sudo -u me",
        "nohup",
        "command",
        "exec",
        "nice -n 5",
        "xargs -n 1",
        "time",
        "A=1",
    ]
)
_WRAPPERS = st.sampled_from(
    [
        "ls; {}",
        "({})",
        "{ {}; }",
        "echo $({})",
        'echo "x $({})"',
        "if true; then {}; fi",
        "for x in a b; do {}; done",
        "{} | cat",
        "sh -c {!r}",
        "eval {!r}",
        "bash -ec {!r}",
        "cat <<EOF\n$({})\nEOF",
        "sh <<'EOF'\n{}\nEOF",
        "echo $(( 1 + 1 )); {}",
    ]
)
_HIDDEN = st.tuples(st.lists(_PREFIXES, max_size=2), st.lists(_WRAPPERS, max_size=3))


def _wrapped(command: str, hidden: tuple[list[str], list[str]]) -> str:
    prefixes, wrappers = hidden
    # an assignment is one only in front
    command = " ".join([*sorted(prefixes, key=lambda prefix: prefix != "A=1"), command])
    for wrapper in wrappers:
        if "{!r}" in wrapper:
            quoted = command.replace("'", "'\\''")
            command = wrapper.replace("{!r}", f"'{quoted}'")
        else:
            command = wrapper.replace("{}", command)
    return command


@given(_HIDDEN)
def test_no_wrapper_hides_a_push(wrappers: tuple[list[str], list[str]]) -> None:
    """D21.1: a push is seen through whatever runs it."""
    assert act_of(_wrapped("git -C . push", wrappers)) is Act.PUSH


@given(_HIDDEN)
def test_no_wrapper_makes_a_harmless_command_suspicious(wrappers: tuple[list[str], list[str]]) -> None:
    assert act_of(_wrapped("git log --grep push", wrappers)) is None


@given(st.text(alphabet=st.characters(exclude_characters="'", codec="utf-8"), max_size=60))
def test_quoted_text_is_never_a_command(text: str) -> None:
    assert act_of(f"echo '{text}'") is None
    assert act_of(f"git commit -m '{text}'") is None


@given(st.text(alphabet="git push;&|()<>{}$`'\"\\\n #=*-~!", max_size=80))
def test_whatever_is_typed_is_judged_without_an_error(text: str) -> None:
    refusal = judge("Bash", {"command": text}, HERE)
    assert refusal is None or refusal.act in Act
    assert "its reader failed" not in str(refusal)
