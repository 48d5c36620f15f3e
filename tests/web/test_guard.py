"""Who may look and who may give orders: the user's own pages, and no other page of his browser."""

import ipaddress
import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from musician.web.keys import MOST_KEYS, Keys
from tests.web.conftest import BASE, ENTERS, Open, enter, form_token_of, post


def test_nobody_is_let_in_without_the_token(open_desk: Open) -> None:
    client = open_desk()
    for path in ("/", "/events", "/static/desk.js", "/tasks/task-01", "/enter", "/enter?token=x"):
        answer = client.get(path)
        assert answer.status_code == 403, path
        assert "musician dashboard" in answer.text
        assert "set-cookie" not in answer.headers


def test_the_token_gives_a_cookie_that_no_script_and_no_other_site_has(open_desk: Open) -> None:
    client = open_desk()
    enter(client)
    answer = client.get("/enter", params={"token": ENTERS})
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert client.get("/").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8123", "127.0.0.1", "127.0.0.1:1", ""])
def test_another_name_is_not_answered_to(desk: TestClient, host: str) -> None:
    """What a page sends that has rebound its own name to this machine."""
    for path in ("/", f"/enter?token={ENTERS}"):
        answer = desk.get(path, headers={"Host": host})
        assert answer.status_code == 421
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "https://127.0.0.1:8123", f"{BASE}0"]
)
def test_an_order_comes_from_our_own_page(desk: TestClient, origin: str | None) -> None:
    headers = {} if origin is None else {"Origin": origin}
    token = form_token_of(desk)
    answer = desk.post("/tasks/task-01/send", data={"token": token, "text": "come here"}, headers=headers)
    assert answer.status_code == 403
    assert "come here" not in desk.get("/tasks/task-01").text


@pytest.mark.parametrize("token", ["", "x", "ü"])
def test_an_order_carries_the_forms_own_token(desk: TestClient, token: str) -> None:
    code, text = post(desk, "/tasks/task-01/send", text="hi", token=token)
    assert code == 409
    assert "Load it again" in text


def test_a_reader_gives_no_orders(open_desk: Open) -> None:
    client = open_desk(read_only=True)
    enter(client)
    assert "<textarea" not in client.get("/tasks/task-01").text
    code, text = post(client, "/tasks/task-01/send", text="hi")
    assert (code, "--read-only" in text) == (403, True)


def test_a_cookie_of_another_server_of_this_machine_locks_nobody_out(desk: TestClient) -> None:
    """Cookies know no ports: the browser sends those of every program that was developed at this address."""
    ours = "; ".join(f"{name}={value}" for name, value in desk.cookies.items())
    for other in ('theme={"dark": true}', "ü=é", "=", "a b=c", "x"):
        answer = desk.get("/", headers={b"Cookie": f"{other}; {ours}".encode()})
        assert answer.status_code == 200, other


@pytest.mark.parametrize("path", ["/", "/nowhere", "/static/desk.css", "/syntax.css"])
def test_no_page_may_load_or_run_what_is_not_ours(desk: TestClient, path: str) -> None:
    answer = desk.get(path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"


def test_a_browser_that_was_let_in_stays_so_and_the_file_opens_no_door(tmp_path: Path) -> None:
    path = tmp_path / "dashboard.json"
    keys = Keys(path)
    key = keys.mint()
    keys.serve_at(8123)
    again = Keys(path)
    assert again.port == 8123
    assert again.knows(key)
    assert key not in path.read_text()
    assert not any(again.knows(text) for text in ("", key[:-1], *json.loads(path.read_text())["digests"]))


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"port": "x"}', '{"port": 99999, "digests": []}', "\xff", "[" * 9999]
)
def test_a_torn_file_lets_nobody_in(tmp_path: Path, content: str) -> None:
    path = tmp_path / "dashboard.json"
    path.write_text(content, encoding="latin-1")
    keys = Keys(path)
    assert not keys.knows("")
    assert keys.knows(keys.mint())


def test_a_repository_keeps_an_address_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "dashboard.json"
    keys = Keys(path)
    keys.serve_at(8123, keys.address)
    assert Keys(path).address == keys.address
    for other in ("127.0.0.1", "10.0.0.1", "evil.example", 7, None):
        path.write_text(json.dumps({"port": 1, "address": other, "digests": []}))
        assert ipaddress.ip_address(Keys(path).address).is_loopback
        assert Keys(path).address != "127.0.0.1"


def test_only_the_newest_browsers_are_known() -> None:
    keys = Keys()
    given = [keys.mint() for _ in range(MOST_KEYS + 1)]
    assert [keys.knows(key) for key in given] == [False, *[True] * MOST_KEYS]
