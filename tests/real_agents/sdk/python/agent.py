"""An agent on the Python package agent-client-protocol: the package's types and its connection, and what they call.
The turns themselves are played by `turn`."""

import asyncio
import json
import os
import uuid
from pathlib import Path
from typing import Any

import acp
from acp.schema import (
    AgentCapabilities,
    AvailableCommand,
    AvailableCommandsUpdate,
    Implementation,
    LoadSessionResponse,
    NewSessionResponse,
    PromptCapabilities,
    SessionMode,
    SessionModeState,
    SetSessionModeResponse,
)

from turn import Turn

SESSIONS = Path.home() / "sessions"


class Session:
    """One conversation, kept in a file with one entry per line."""

    def __init__(self, session_id: str, cwd: str, history: list[dict[str, Any]]):
        self.id = session_id
        self.cwd = Path(cwd)
        self.history = history
        self.mode = "ask"
        self.cancelled = asyncio.Event()

    def remember(self, entry: dict[str, Any]) -> None:
        self.history.append(entry)
        SESSIONS.mkdir(exist_ok=True)
        append(SESSIONS / self.id, entry)

    def log(self) -> None:
        """Notes all that the agent knows in a turn, where tests ask what its model would be asked."""
        if path := os.environ.get("AGENT_LOG"):
            append(Path(path), {"body": self.history})

    def modes(self) -> SessionModeState:
        names = {"ask": "Ask", "plan": "Plan", "auto": "Auto"}
        modes = [SessionMode(id=mode, name=name) for mode, name in names.items()]
        return SessionModeState(available_modes=modes, current_mode_id=self.mode)


def append(path: Path, entry: Any) -> None:
    with path.open("a") as file:
        file.write(json.dumps(entry) + "\n")


class ScriptedAgent(acp.Agent):
    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}

    def on_connect(self, conn: acp.Client) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(
            protocol_version=min(protocol_version, acp.PROTOCOL_VERSION),
            agent_capabilities=AgentCapabilities(
                load_session=True, prompt_capabilities=PromptCapabilities(image=True)
            ),
            agent_info=Implementation(name="scripted-python", version="0"),
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        session = self.open(Session(uuid.uuid4().hex, cwd, []))
        return NewSessionResponse(session_id=session.id, modes=session.modes())

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        path = SESSIONS / session_id
        if not path.is_file():
            raise acp.RequestError.resource_not_found(session_id)
        history = [json.loads(line) for line in path.read_text().splitlines()]
        session = self.open(Session(session_id, cwd, history))
        for entry in history:
            for block in entry.get("user", []):
                if block["type"] == "text":
                    await self.client.session_update(session_id, acp.update_user_message_text(block["text"]))
            if "agent" in entry:
                await self.client.session_update(session_id, acp.update_agent_message_text(entry["agent"]))
        return LoadSessionResponse(modes=session.modes())

    def open(self, session: Session) -> Session:
        self.sessions[session.id] = session
        return session

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        self.sessions[session_id].mode = mode_id
        return SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> acp.PromptResponse:
        session = self.sessions[session_id]
        session.cancelled.clear()
        session.remember({"user": [block.model_dump(mode="json", by_alias=True) for block in prompt]})
        session.log()
        commands = [AvailableCommand(name="init", description="Does nothing")]
        await self.client.session_update(
            session_id,
            AvailableCommandsUpdate(session_update="available_commands_update", available_commands=commands),
        )
        turn = Turn(self.client, session)
        try:
            stop_reason = await turn.play("\n".join(block.text for block in prompt if block.type == "text"))
        finally:
            session.remember({"agent": turn.said})
        return acp.PromptResponse(stop_reason=stop_reason)

    async def cancel(self, session_id: str, **_: Any) -> None:
        self.sessions[session_id].cancelled.set()


asyncio.run(acp.run_agent(ScriptedAgent()))
