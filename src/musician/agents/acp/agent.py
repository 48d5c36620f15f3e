"""Starting an agent that speaks the protocol, and agreeing with it on a session.

An agent that cannot be used (it is not installed, has no login, speaks another version, lacks the mode that
makes it ask or the model that the plan names) is reported as the outcome of each piece, because there somebody
waits for an answer.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio
from acp.exceptions import RequestError
from acp.meta import PROTOCOL_VERSION

from musician.agents.acp.bill import Bill
from musician.agents.acp.connection import Document, Wire, connected
from musician.agents.acp.failures import UNDERSTOOD, of_refused_request
from musician.agents.acp.profiles import Profile
from musician.agents.acp.session import AcpSession
from musician.agents.hosted import OPEN_LIMIT_S, Complaints, NoSession, leave_files, own_folders
from musician.agents.port import AgentSession, Stage, Terminal
from musician.processes.sandbox import Own
from musician.processes.spawn import speak_with
from musician.protocol.musician.inputs import PieceEnding


class AcpAgent:
    """Implements :class:`musician.agents.port.Agent`."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    @property
    def tells_price(self) -> bool:
        return self._profile.tells_price

    @asynccontextmanager
    async def open(self, stage: Stage) -> AsyncIterator[AgentSession]:
        env = self._environment(stage.env)
        async with speak_with(
            self._profile.command,
            cwd=stage.tree,
            env=env,
            on_process=stage.on_process,
            keeps=self._kept(env),
        ) as program:
            complaints = Complaints(program)
            session = AcpSession(self._profile, stage, complaints.last_words)
            session.identity = program.identity
            async with complaints.heard(), connected(program, session.heard) as wire:
                session.wire = wire
                yield await _agreed(session, self._profile, stage, complaints)

    def terminal(self, token: str, env: Mapping[str, str], model: str) -> Terminal | None:
        if not self._profile.terminal:
            return None
        whole = self._environment(env)
        argv = (*self._profile.terminal, *((f"--model={model}",) if model else ()), token)
        return Terminal(argv=argv, env=whole, keeps=self._kept(whole))

    def _environment(self, added: Mapping[str, str]) -> dict[str, str]:
        env = {**os.environ, **self._profile.env, **added}
        leave_files(env, self._profile.leaves)
        return env

    def _kept(self, env: Mapping[str, str]) -> Own:
        views = own_folders(env, *self._profile.keeps, sealed=self._profile.sealed)
        return Own(views=views, hosts=self._profile.hosts)


async def _agreed(
    session: AcpSession, profile: Profile, stage: Stage, complaints: Complaints
) -> AgentSession:
    try:
        with anyio.fail_after(OPEN_LIMIT_S):
            await _agree(session, profile, stage)
    except TimeoutError:
        return NoSession(PieceEnding.LOST, f"it was not ready within {OPEN_LIMIT_S:g} s")
    except ConnectionError:
        return NoSession(PieceEnding.LOST, await complaints.last_words())
    except RequestError as error:
        failure = of_refused_request(error)
        return NoSession(failure.ending, failure.detail)
    except _Unfit as unfit:
        return NoSession(PieceEnding.REFUSED, str(unfit))
    return session


class _Unfit(Exception):
    """The agent lacks something that we require of it."""


async def _agree(session: AcpSession, profile: Profile, stage: Stage) -> None:
    wire = session.wire
    able = await wire.request(
        "initialize",
        protocolVersion=PROTOCOL_VERSION,
        clientCapabilities={"fs": {"readTextFile": False, "writeTextFile": False}, "_meta": UNDERSTOOD},
        clientInfo={"name": "musician", "version": "1"},
    )
    version = able.get("protocolVersion")
    if version != PROTOCOL_VERSION:
        raise _Unfit(f"it speaks version {version} of the Agent Client Protocol, and we {PROTOCOL_VERSION}")
    match able:
        case {"_meta": {"steering": {"supported": True}}}:
            session.is_steered_by_name = True
    begun = await _begun(session, wire, able, stage)
    await _put_into_mode(session.token, wire, begun, profile.mode)
    if stage.model:
        await _choose_model(session.token, wire, begun, stage.model)


async def _begun(session: AcpSession, wire: Wire, able: Document, stage: Stage) -> Document:
    where = {"cwd": str(stage.tree), "mcpServers": []}
    match able:
        case {"agentCapabilities": {"loadSession": True}} if stage.token:
            try:
                session.token = stage.token
                session.bill.take_up()
                return await wire.request("session/load", sessionId=stage.token, **where)
            except RequestError:
                session.token, session.bill = "", Bill()
    begun = await wire.request("session/new", **where)
    session.token = str(begun.get("sessionId") or "")
    if not session.token:
        raise _Unfit("it gave its session no id")
    return begun


async def _put_into_mode(token: str, wire: Wire, begun: Document, mode: str) -> None:
    match begun.get("modes"):
        case _ if not mode:
            return
        case {"currentModeId": current} if current == mode:
            return
        case {"availableModes": [*modes]} if any({"id": mode}.items() <= each.items() for each in modes):
            await wire.request("session/set_mode", sessionId=token, modeId=mode)
        case _:
            raise _Unfit(f"it has no mode {mode!r}, in which it would ask before it acts")


async def _choose_model(token: str, wire: Wire, begun: Document, model: str) -> None:
    options = begun.get("configOptions")
    for option in options if isinstance(options, list) else ():
        match option:
            case {"category": "model", "id": str(chooser)}:
                try:
                    chosen = {"configId": chooser, "value": model}
                    await wire.request("session/set_config_option", sessionId=token, **chosen)
                except RequestError as error:
                    raise _Unfit(f"it has no model {model!r} ({error})") from error
                return
    raise _Unfit(
        f"its model cannot be chosen, and the plan names {model!r}: leave that to the agent's own settings"
    )
