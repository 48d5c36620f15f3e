"""Whoever asks the server is answered, whatever the line is (B17)."""

import json
from typing import Any

import pytest

from musician.mcp_server.requests import MOST_DEPTH, Wrong, checked


def call(id_: object, arguments: str) -> bytes:
    asked = f'"params":{{"name":"step","arguments":{arguments}}}'
    text = f'{{"jsonrpc":"2.0","id":{json.dumps(id_)},"method":"tools/call",{asked}}}'
    return text.encode()


DEEP = "[" * 300 + "]" * 300

WRONG = [
    (b"not json", None, -32700),
    (b"\xff\xfe", None, -32700),
    (b"[]", None, -32600),
    (b"7", None, -32600),
    (b"null", None, -32600),
    (b'{"jsonrpc":"2.0","id":7}', 7, -32600),
    (b'{"jsonrpc":"1.0","id":8,"method":"ping"}', 8, -32600),
    (b'{"id":"nine","method":"ping"}', "nine", -32600),
    (b'{"jsonrpc":"2.0","id":10,"method":7}', 10, -32600),
    (b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', None, -32600),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, -32600),
    (b'{"jsonrpc":"2.0","id":11,"method":"tools/call","params":7}', 11, -32602),
    (call(12, '{"n":' + "7" * 5000 + "}"), 12, -32700),
    (call("x", "[" * 100_000), "x", -32700),
    (call(14, f'{{"n":{DEEP}}}'), 14, -32600),
    (b'{"method":"tools/call","params":{"n":' + b"7" * 5000 + b'},"jsonrpc":"2.0","id":15}', 15, -32700),
]


@pytest.mark.parametrize(("line", "id_", "code"), WRONG)
def test_what_is_no_request_is_answered_by_an_error(
    shared: tuple[Any, Any], line: bytes, id_: object, code: int
) -> None:
    """AUDIT-C9: with its id where one can be read, and the server goes on."""
    server = shared[1]
    server.write(line + b"\n")
    reply = server.reply()
    assert (reply["id"], reply["error"]["code"]) == (id_, code)
    assert server.call("siblings")[0]


@pytest.mark.parametrize("half", ["\\ud83d", "\\uDE00", "\\ud83d\\ud83d"])
def test_half_a_character_is_replaced_and_the_call_is_answered(shared: tuple[Any, Any], half: str) -> None:
    """AUDIT-C9: a model's text that was cut holds one."""
    server = shared[1]
    server.write(
        b'{"jsonrpc":"2.0","id":"h","method":"tools/call","params":{"name":"query","arguments":{"sql":"SELECT \'a'
        + half.encode()
        + b" b'\"}}}\n"
    )
    reply = server.reply()
    assert reply["id"] == "h"
    assert "\ufffd b" in reply["result"]["content"][0]["text"]


def test_a_whole_character_and_an_answer_of_the_clients_pass_as_they_are() -> None:
    for line in (
        call(1, '{"text":"\\ud83d\\ude00"}'),
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","method":"x"}',
    ):
        assert checked(line) == json.loads(line)
    assert checked(call(2, "[" * (MOST_DEPTH - 3) + "]" * (MOST_DEPTH - 3)))


def test_a_notification_is_never_answered() -> None:
    with pytest.raises(Wrong) as raised:
        checked(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}')
    assert raised.value.reply is None
