"""``review: agent`` and ``answers: agent`` through whole runs with real agents, whose models are scripts."""

from pathlib import Path

import pytest

from musician.testing import Received, Reply, say
from musician.testing.script import Step
from tests.agents.whole_run import DICE, PLAN, TEST, play, shell_of, writing
from tests.nightly import at_night
from tests.surroundings import git

DOCUMENTED = f'"""Dice."""\n{DICE}'


class Musicians:
    """Who plays asks for a name, and forgets a docstring. Others answer the one and send back the other."""

    def __init__(self, agent: str) -> None:
        self._shell = shell_of(agent)
        self.judged: list[str] = []
        self.answered: list[str] = []

    def __call__(self, received: Received) -> Step:
        everything = received.all_text
        if "Another agent plays the task below" in everything:
            self.answered.append(everything)
            return say("I have looked.\n::reply call it read, as the step says")
        if "Judge what was submitted" in everything:
            return self._judge(received)
        return self._play(received.news_text)

    def _judge(self, received: Received) -> Step:
        if not received.answers:
            return self._run("git diff $MUSICIAN_BASE")
        self.judged.append(received.answers[0].text)
        has_one = '"""' in self.judged[-1]
        return say("::verdict approve" if has_one else "::verdict reject dice.py has no docstring")

    def _play(self, news: str) -> Step:
        if "no docstring" in news:
            return self._run(writing("dice.py", DOCUMENTED), "Mended.\n::answer 1 it has one")
        if "step 1: Write" in news:
            return (
                self._run(writing("dice.py", DICE))
                if "call it read" in news
                else say("Is it to be called read or parse?")
            )
        if "step 2: Test" in news:
            return self._run(writing("test_dice.py", TEST))
        return say("done.")

    def _run(self, command: str, text: str = "") -> Reply:
        return Reply(text=text, uses=(self._shell(command),))


@pytest.mark.deep
@pytest.mark.parametrize("agent", at_night(["claude", "codex"], but=["claude"]))
def test_agents_answer_and_review_and_no_person_is_asked(agent: str, tmp_path: Path) -> None:
    """A question is answered, what is sent back is mended, and the plan is played to its end."""
    model = Musicians(agent)
    ran = play(tmp_path, PLAN, model, "--review", "agent", "--answers", "agent", agent=agent)
    assert len(model.answered) == 1
    assert "Is it to be called read or parse?" in model.answered[0]
    assert ["def read" in each for each in model.judged] == [True, True]
    assert "dice.py has no docstring" in ran.told
    assert git(ran.project, "show", "HEAD:dice.py") == DOCUMENTED
