"""Writes the first draft of a plan: its front matter says what the project needs, its tasks are for the
author to fill in.

The draft is a plan that can be read, so that `plan check` says what is still missing.
"""

import re

import yaml

from musician.plans.model import MAX_TITLE_CHARACTERS
from musician.plans.needs import Needs
from musician.protocol.errors import BadId
from musician.protocol.names import check_plan_id

_LONGEST_ID = 40
_FALLBACK_ID = "plan"

_BODY = """\
# {title}

## Overview
What this plan is for, and what everybody who works on it should know. Every musician is given this text.

## Phase 1: The parts
The tasks of a phase are played at the same time, each in a working tree of its own.

### task-01: A first part
#### Step 1: What is done first
Say what to do and how one sees that it is right. A step is one commit.
#### Checkpoint 1: what must hold by now
#### Step 2: What is done then

### task-02: A second part
#### Step 1: What is done

## Phase 2: The whole
A phase begins when the one before it is merged.

### task-03: Put the parts together
#### Step 1: What is done
"""


def draft_plan(needs: Needs, *, plan_id: str, title: str, agent: str) -> str:
    """Return the text of a plan for a project with these needs. :class:`BadId` for what can be no plan's
    id.
    """
    check_plan_id(plan_id)
    lines = ["---", _key("plan", plan_id)]
    if needs.test:
        lines += [_key("test", needs.test), *(f"# or: {way}" for way in needs.besides)]
    else:
        lines.append("# test: the command that tests the project; none was found")
    if needs.setup:
        lines.append(_key("setup", needs.setup))
    lines += [
        _key(name, list(paths)) for name, paths in (("copy", needs.copy), ("share", needs.share)) if paths
    ]
    lines.append(f"agent: {agent}")
    if agent != "shell":
        lines.append("sandbox: auto  # the agent and the tests write their own tree only; off: they do not")
    lines.append("---")
    return "\n".join(lines) + "\n" + _BODY.format(title=_title(title))


def _title(name: str) -> str:
    """Return a file's or folder's name as a title that can stand in a heading."""
    plain = "".join(each for each in name if each.isprintable()).strip(" #")
    return plain[:MAX_TITLE_CHARACTERS] or _FALLBACK_ID


def plan_id_for(name: str) -> str:
    """Return an id made of a file's or folder's name."""
    made = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_LONGEST_ID].rstrip("-")
    try:
        return check_plan_id(made)
    except BadId:
        return _FALLBACK_ID


def _key(name: str, value: object) -> str:
    flow = isinstance(value, list)
    return yaml.safe_dump(
        {name: value}, allow_unicode=True, width=float("inf"), default_flow_style=None if flow else False
    ).rstrip()
