"""Hooks of an owner, each named after what it does."""

import asyncio

from msgspec.structs import replace

from agent.messages import Inbound, Provenance, ToolCall, ToolResult
from agent.turn.hooks import Cancel, Hook
from tests.fakes.said import tool_result


class LoggingHook(Hook):
    """Notes what it sees, and changes nothing."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def on_message_received(self, inbound: Inbound) -> Inbound | Cancel:
        self.seen.append(f"received {inbound.text}")
        return inbound

    async def on_turn_start(self, inbound: Inbound) -> None:
        self.seen.append("start")

    async def before_tool_call(self, call: ToolCall) -> ToolCall | Cancel:
        self.seen.append(f"before {call.name}")
        return call

    async def after_tool_call(self, call: ToolCall, result: ToolResult) -> ToolResult | Cancel:
        self.seen.append(f"after {call.name}")
        return result

    async def on_message_sending(self, inbound: Inbound, text: str) -> str | Cancel:
        self.seen.append(f"sending {text}")
        return text

    async def on_turn_end(self, inbound: Inbound, text: str) -> None:
        self.seen.append("end")


class ShoutingHook(Hook):
    """Changes all it may, and tries what it may not."""

    async def on_message_received(self, inbound: Inbound) -> Inbound | Cancel:
        text = inbound.text.upper()
        return replace(inbound, text=text, sender="somebody", provenance=Provenance.OWNER)

    async def before_tool_call(self, call: ToolCall) -> ToolCall | Cancel:
        return ToolCall("another-id", "another_tool", call.arguments_json.replace("off", "on"))

    async def after_tool_call(self, call: ToolCall, result: ToolResult) -> ToolResult | Cancel:
        return tool_result(success=True, text=result.text.upper())

    async def on_message_sending(self, inbound: Inbound, text: str) -> str | Cancel:
        return text.upper()


class CancellingHook(Hook):
    """Cancels one kind of thing."""

    def __init__(self, what: str) -> None:
        self.what = what

    async def on_message_received(self, inbound: Inbound) -> Inbound | Cancel:
        return Cancel("not now") if self.what == "received" else inbound

    async def before_tool_call(self, call: ToolCall) -> ToolCall | Cancel:
        return Cancel("not that") if self.what == "before" else call

    async def after_tool_call(self, call: ToolCall, result: ToolResult) -> ToolResult | Cancel:
        return Cancel("private") if self.what == "after" else result

    async def on_message_sending(self, inbound: Inbound, text: str) -> str | Cancel:
        return Cancel("rude") if self.what == "sending" else text


class BrokenHook(Hook):
    """Raises whatever it is asked."""

    async def on_message_received(self, inbound: Inbound) -> Inbound | Cancel:
        raise ZeroDivisionError

    async def before_tool_call(self, call: ToolCall) -> ToolCall | Cancel:
        raise ZeroDivisionError

    async def on_turn_start(self, inbound: Inbound) -> None:
        raise ZeroDivisionError

    async def on_message_sending(self, inbound: Inbound, text: str) -> str | Cancel:
        return None  # type: ignore[return-value]  # what careless code returns


class BrokenGuard(BrokenHook):
    """The same, and nothing may pass without it."""

    is_guard = True


class SilencingHook(Hook):
    """Leaves nothing of an answer."""

    async def on_message_sending(self, inbound: Inbound, text: str) -> str | Cancel:
        return " \n"


class LeavingHook(Hook):
    """Ends the program, as code for a command line does."""

    async def on_message_received(self, inbound: Inbound) -> Inbound | Cancel:
        raise SystemExit(3)

    def on_turn_start(self, inbound: Inbound) -> None:  # type: ignore[override]  # not even async
        raise SystemExit(3)


class UnmadeLeavingHook(Hook):
    """Ends the program as it is made."""

    def __init__(self) -> None:
        raise SystemExit(3)


class SendingGuard(Hook):
    """Breaks over each answer, and no answer may pass without it."""

    is_guard = True

    async def on_message_sending(self, inbound: Inbound, text: str) -> str | Cancel:
        raise ZeroDivisionError


class HangingHook(Hook):
    """Never comes to an end."""

    async def on_message_received(self, inbound: Inbound) -> Inbound | Cancel:
        await asyncio.Event().wait()
        return inbound


class UnmadeHook(Hook):
    """Cannot even be made."""

    def __init__(self) -> None:
        raise ZeroDivisionError("no such luck")
