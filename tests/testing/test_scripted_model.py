"""The scripted model, asked by plain HTTP: what it records, how it answers, and that it never hangs."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import pytest

from musician.testing import (
    NotInTime,
    Received,
    Reply,
    RequestKind,
    ScriptedFailure,
    ScriptedModel,
    ScriptProblem,
    ToolUse,
    Usage,
    say,
    until,
    use,
)
from musician.testing.waiting import HANG_S

TOOLS = [{"name": "Bash", "description": "runs a command", "input_schema": {"type": "object"}}]


def ask(model: ScriptedModel, *messages: dict[str, Any], **rest: Any) -> tuple[int, str]:
    """Send a conversation; status and body. ``agent`` is the header of a subagent's request."""
    headers = {"x-api-key": "secret", "x-claude-code-session-id": "s1"}
    if agent := rest.pop("agent", ""):
        headers["x-claude-code-agent-id"] = agent
    body = {"model": "m", "messages": messages or [{"role": "user", "content": "hi"}], "tools": TOOLS, **rest}
    return http(model, "POST", "/v1/messages?beta=true", json.dumps(body).encode(), **headers)


def events(text: str) -> list[dict[str, Any]]:
    return [
        json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")
    ]


def http(model: ScriptedModel, method: str, path: str, body: bytes, **headers: str) -> tuple[int, str]:
    with closing(HTTPConnection(model.url.removeprefix("http://"), timeout=HANG_S)) as connection:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def test_a_plain_answer_and_a_streamed_one_say_the_same() -> None:
    reply = Reply(
        text="Grüße", uses=(ToolUse(name="Bash", input={"command": "ls"}),), usage=Usage(input=7, output=3)
    )
    with ScriptedModel([reply, reply]) as model:
        whole = json.loads(ask(model)[1])
        streamed = events(ask(model, stream=True)[1])
    assert whole["content"] == [
        {"type": "text", "text": "Grüße"},
        {"type": "tool_use", "id": "toolu_0001_0", "name": "Bash", "input": {"command": "ls"}},
    ]
    assert whole["stop_reason"] == "tool_use"
    assert whole["usage"]["input_tokens"] == 7
    assert [each["type"] for each in streamed] == [
        "message_start",
        *["content_block_start", "content_block_delta", "content_block_stop"] * 2,
        "message_delta",
        "message_stop",
    ]
    text, tool = streamed[2]["delta"], streamed[5]["delta"]
    assert text["text"] == whole["content"][0]["text"]
    assert json.loads(tool["partial_json"]) == whole["content"][1]["input"]
    assert streamed[-2]["delta"]["stop_reason"] == "tool_use"
    assert streamed[-2]["usage"] == {"output_tokens": 3}


def test_the_main_conversation_the_subagents_and_the_client_have_answers_of_their_own() -> None:
    with ScriptedModel([say("main")], sub=[say("sub")]) as model:
        answers = [ask(model, tools=[])[1], ask(model, agent="a1")[1], ask(model)[1]]
        assert [json.loads(each)["content"][0]["text"] for each in answers] == ["aux", "sub", "main"]
        assert [each.kind for each in model.requests] == [RequestKind.AUX, RequestKind.SUB, RequestKind.MAIN]
        assert [each.number for each in model.main] == [3]


def test_a_request_is_read_with_its_tools_its_news_and_its_tool_results_and_without_a_key() -> None:
    conversation: list[dict[str, Any]] = [
        {"role": "user", "content": "begin"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [{"type": "text", "text": "no"}],
                    "is_error": True,
                },
                {"type": "text", "text": "a reminder"},
            ],
        },
    ]
    with ScriptedModel([say("ok")]) as model:
        ask(model, *conversation, system=[{"type": "text", "text": "be kind"}])
    (request,) = model.requests
    assert (request.session_id, request.model, request.streams) == ("s1", "m", False)
    assert request.system_text == "be kind"
    assert list(request.tools) == ["Bash"]
    assert [message.text for message in request.messages] == ["begin", "", "a reminder"]
    assert request.news_text == "a reminder\nno"
    assert [(answer.use_id, answer.text, answer.is_error) for answer in request.answers] == [
        ("t1", "no", True)
    ]
    assert "begin" in request.all_text
    assert "secret" not in repr(vars(model)) + repr(request.body)


def test_a_step_may_be_a_function_of_the_request() -> None:
    def echo(request: Received) -> Reply:
        return say(f"you said {request.news_text}")

    with ScriptedModel([echo, say("two")]) as model:
        assert "you said hi" in ask(model)[1]
        assert "two" in ask(model)[1]
    with ScriptedModel(echo) as model:
        assert ["you said hi" in ask(model)[1] for _ in range(2)] == [True, True]


def test_a_failure_is_an_error_document_with_its_status() -> None:
    with ScriptedModel([ScriptedFailure(status=529, kind="overloaded_error", message="later")]) as model:
        status, body = ask(model)
    assert status == 529
    assert json.loads(body) == {"type": "error", "error": {"type": "overloaded_error", "message": "later"}}


@pytest.mark.parametrize(
    "wrong", [lambda: Reply(), lambda: ScriptedFailure(status=200), lambda: Usage(input=-1)]
)
def test_a_step_that_says_nothing_or_the_impossible_cannot_be_made(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"says something|no failure|negative"):
        wrong()


def test_a_script_that_has_ended_ends_the_turn_and_fails_the_test() -> None:
    def served() -> int:
        with ScriptedModel([]) as model:
            return ask(model)[0]

    with pytest.raises(ScriptProblem, match=r"request 1 \(main\) has no step"):
        served()


def test_an_assertion_within_the_script_fails_the_test() -> None:
    def disagree(request: Received) -> Reply:
        raise AssertionError("not what I expected")

    with pytest.raises(ScriptProblem, match="not what I expected"), ScriptedModel(disagree) as model:
        assert ask(model)[0] == 402


def test_what_goes_wrong_in_the_test_itself_is_not_hidden_by_the_script() -> None:
    def broken() -> None:
        with ScriptedModel([]) as model:
            ask(model)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as failed:
        broken()
    assert ["has no step in the script" in note for note in failed.value.__notes__] == [True], "but told"


def test_a_held_answer_comes_when_it_is_let_go_and_the_request_is_seen_before() -> None:
    hold = threading.Event()
    with ThreadPoolExecutor() as pool, ScriptedModel([say("at last", hold=hold)]) as model:
        asked = pool.submit(ask, model)
        assert model.wait_for(lambda request: request.news_text == "hi").number == 1
        assert not asked.done()
        hold.set()
        assert "at last" in asked.result()[1]


def test_the_end_of_the_server_lets_go_what_is_held() -> None:
    hold = threading.Event()
    with ThreadPoolExecutor() as pool:
        with ScriptedModel([use("Bash", command="ls", hold=hold)]) as model:
            asked = pool.submit(ask, model)
            model.wait_for(lambda request: True)
        assert "toolu_0001_0" in asked.result()[1]


def test_a_request_that_never_comes_is_told_with_what_came() -> None:
    with ScriptedModel([say("ok")]) as model:
        ask(model)
        with pytest.raises(NotInTime, match="1 requests; the last"):
            model.wait_for(lambda request: False, within_s=0.01)
        with pytest.raises(NotInTime):
            model.wait_for(lambda request: True, after=1, within_s=0.01)
        assert "hi" in model.told()


def test_what_is_no_message_is_answered_too() -> None:
    with ScriptedModel([]) as model:
        assert http(model, "POST", "/v1/messages/count_tokens", b"x" * 40) == (200, '{"input_tokens": 10}')
        for method, path in (("GET", "/"), ("HEAD", "/"), ("POST", "/v1/files")):
            assert http(model, method, path, b"")[0] == 404
        assert http(model, "POST", "/v1/messages", b"", **{"content-length": "99999999"})[0] == 413
        assert model.requests == ()


def test_waiting_ends_with_the_first_true_answer_or_says_what_it_was_told() -> None:
    answers = iter([0, "", "here"])
    assert until(lambda: next(answers)) == "here"
    with pytest.raises(NotInTime, match="nobody came"):
        until(lambda: False, within_s=0.01, told=lambda: "nobody came")
