"""Plays the script of one prompt."""

import asyncio
import re
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import acp
from acp.schema import PermissionOption, ToolCallLocation, ToolCallUpdate

from script import Step, parse

# How long a model would think between two calls, in which the client finds what the first one did on disk.
MODEL_TIME = 0.1
STEPS = ("Look at the file", "Change the file", "Tell the user")


class Cancelled(Exception):
    pass


class Failed(Exception):
    pass


class Turn:
    def __init__(self, client: acp.Client, session: Any):
        self.client = client
        self.session = session
        self.said = ""
        self.calls = 0

    async def play(self, text: str) -> str:
        try:
            await self.steps(text)
        except Cancelled:
            return "cancelled"
        return "end_turn"

    async def steps(self, text: str) -> None:
        groups = parse(text)
        if not groups:
            await self.say(f"Mock reply to: {text}")
        result = None
        for group in groups:
            name, argument = group[0].name, group[0].argument
            result = None
            if name == "say":
                await self.say(argument)
            elif name == "think":
                for word in words(argument):
                    await self.update(acp.update_agent_thought_text(word))
            elif name == "slow":
                for number in range(int(argument)):
                    await self.say(f"tick {number + 1} ")
                    await self.wait(0.2)
            elif name == "hang":
                await self.wait(None)
            elif name == "todo":
                done = int(argument or 0)
                plan = [
                    acp.plan_entry(step, status="completed" if number < done else "pending")
                    for number, step in enumerate(STEPS)
                ]
                await self.update(acp.update_plan(plan))
            elif name == "error":
                raise acp.RequestError(int(argument), f"mock error {argument}")
            else:
                result = (await asyncio.gather(*(self.call(step) for step in group)))[-1]
                await self.wait(MODEL_TIME)
        if result is not None:
            result = re.sub(r"\s+", " ", result)
            await self.say(f"All {self.calls} steps done. Last tool result: {result}")

    async def wait(self, seconds: float | None) -> None:
        """Lets time pass, in which the turn may be cancelled."""
        try:
            await asyncio.wait_for(self.session.cancelled.wait(), seconds)
        except asyncio.TimeoutError:
            return
        raise Cancelled

    async def update(self, update: Any) -> None:
        await self.client.session_update(self.session.id, update)

    async def say(self, text: str) -> None:
        self.said += text
        for word in words(text):
            await self.update(acp.update_agent_message_text(word))

    async def call(self, step: Step) -> str:
        """Announces a tool call, makes it and tells how it ended."""
        self.calls += 1
        path, _, content = step.argument.partition("|")
        call_id = uuid.uuid4().hex
        is_command = step.name == "shell"
        about = {
            "title": step.argument if is_command else f"{step.name.capitalize()} {path}",
            "kind": {"shell": "execute", "read": "read"}.get(step.name, "edit"),
            "locations": [] if is_command else [ToolCallLocation(path=str(self.path(path)))],
            "raw_input": {"command": step.argument} if is_command else {"path": path},
        }
        await self.update(acp.start_tool_call(call_id, status="pending", **about))
        ask = self.asker(call_id, about)
        try:
            if step.name == "read":
                result = await self.read(path)
            elif step.name == "edit":
                old, _, new = content.partition("|")
                text = await self.read(path)
                if old not in text:
                    raise Failed(f"{old} is not in {path}")
                result = await self.write(call_id, ask, path, text, text.replace(old, new, 1))
            elif step.name == "write":
                result = await self.write(call_id, ask, path, None, content)
            elif is_command:
                result = await self.shell(call_id, ask, step.argument)
            else:
                raise Failed(f"there is no step {step.name}")
        except Cancelled:
            await self.update(acp.update_tool_call(call_id, status="failed"))
            raise
        except (Failed, acp.RequestError) as error:
            # What the client refuses is the tool's failure, of which the model is told.
            why = f"{error} {getattr(error, 'data', None) or ''}".strip()
            content = [acp.tool_content(acp.text_block(why))]
            await self.update(acp.update_tool_call(call_id, status="failed", content=content))
            return why
        await self.update(acp.update_tool_call(call_id, status="completed"))
        return result

    def path(self, name: str) -> Path:
        return self.session.cwd / name

    async def read(self, name: str) -> str:
        answer = await self.client.read_text_file(self.session.id, str(self.path(name)))
        return answer.content

    async def write(self, call_id: str, ask: Any, name: str, old: str | None, new: str) -> str:
        path = str(self.path(name))
        diff = [acp.tool_diff_content(path, new, old)]
        await ask(diff)
        await self.client.write_text_file(self.session.id, path, new)
        await self.update(acp.update_tool_call(call_id, content=diff))
        return f"{name} was written"

    async def shell(self, call_id: str, ask: Any, command: str) -> str:
        await ask([])
        session = self.session.id
        terminal = await self.client.create_terminal(session, "sh", ["-c", command], cwd=str(self.session.cwd))
        shown = acp.tool_terminal_ref(terminal.terminal_id)
        await self.update(acp.update_tool_call(call_id, status="in_progress", content=[shown]))
        ended = asyncio.ensure_future(self.client.wait_for_terminal_exit(session, terminal.terminal_id))
        cancelled = asyncio.ensure_future(self.session.cancelled.wait())
        try:
            await asyncio.wait([ended, cancelled], return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                await self.client.kill_terminal(session, terminal.terminal_id)
                await ended
                raise Cancelled
            output = await self.client.terminal_output(session, terminal.terminal_id)
        finally:
            cancelled.cancel()
            await self.client.release_terminal(session, terminal.terminal_id)
        if ended.result().exit_code != 0:
            raise Failed(output.output)
        return output.output

    def asker(self, call_id: str, about: dict[str, Any]) -> Callable[[list[Any]], Awaitable[None]]:
        async def ask(content: list[Any]) -> None:
            if self.session.mode == "auto":
                return
            options = [
                PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
                PermissionOption(option_id="no", name="Reject", kind="reject_once"),
            ]
            call = ToolCallUpdate(tool_call_id=call_id, status="pending", content=content, **about)
            answer = await self.client.request_permission(self.session.id, call, options)
            # The user's answer to a turn that was cancelled is that.
            if answer.outcome.outcome == "cancelled":
                raise Cancelled
            if answer.outcome.option_id != "yes":
                raise Failed("the user rejected it")

        return ask


def words(text: str) -> list[str]:
    return re.findall(r"[^ ]* ?", text)[:-1]
