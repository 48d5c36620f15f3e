"""An archived plan is looked at on the same pages, and nothing of it can be changed there."""

import html
from pathlib import Path

from starlette.testclient import TestClient

from tests.surroundings import Call
from tests.web.conftest import post


def test_an_archived_plan_is_looked_at_on_the_same_pages(
    submitted: Path, desk: TestClient, call: Call
) -> None:
    """Its overview, tasks, reviews, logs and timeline; what is at work keeps its place in every page's head."""
    call("release", "1")
    assert 'href="/plans"' in desk.get("/").text
    call("plan", "archive", "greeter", "--abandon", "<b>another</b> way")
    listed = desk.get("/plans").text
    assert 'href="/plans/greeter/"' in listed
    assert "abandoned: &lt;b&gt;another&lt;/b&gt; way" in listed
    home = desk.get("/plans/greeter/").text
    assert 'href="/plans/greeter/tasks/task-01"' in home
    assert "stands still" in home
    assert "Needs you" not in home
    assert "for you</dt><dd>0<" in home
    for path in ("", "/review", "/log"):
        text = desk.get(f"/plans/greeter/tasks/task-01{path}").text
        assert "task-01" in text
        assert 'method="post"' not in text
        assert 'href="/tasks/' not in text
        assert desk.get(f"/tasks/task-01{path}").status_code == 404
    review = desk.get("/plans/greeter/tasks/task-01/review").text
    assert (
        'class="added"' in desk.get(html.unescape(review.partition('data-src="')[2].partition('"')[0])).text
    )
    assert "/plans/greeter/tasks/task-01" in desk.get("/plans/greeter/timeline").text
    assert post(desk, "/plans/greeter/tasks/task-01/send", text="hello")[0] in (404, 405)
    for name in (
        "nothing/",
        "%2e%2e%2fx/",
        "greeter/tasks/task-77",
        f"greeter/changes/{'a' * 40}/{'b' * 40}/0",
    ):
        answer = desk.get(f"/plans/{name}")
        assert (answer.status_code, "Not found" in answer.text) == (404, True), name
    call("plan", "restore", "greeter")
    assert desk.get("/plans/greeter/").status_code == 404
    assert desk.get("/tasks/task-01").status_code == 200
