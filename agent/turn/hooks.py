"""Hooks: the owner's own code around messages, answers and tool calls, loaded by name."""

import asyncio
import importlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from agent.errors import ConfigRefused
from agent.messages import Inbound, ToolCall, ToolResult
from agent.passage import configured, own

_log = logging.getLogger(__name__)

# A person waits meanwhile
HOOK_TIMEOUT_S = 2.0
# What a hook may make of an answer: more than that is no answer
MAX_TEXT_CHARS = 20_000
_BROKEN = "a guard hook failed"

_T = TypeVar("_T")


class Cancel(Struct, frozen=True):
    """Stop here; `reason` is for the log, and for the model where a tool call is cancelled."""

    reason: str


class GuardFailure(Cancel, frozen=True):
    """A guard broke, so nothing goes on; whoever wrote is told."""


class Hook:
    """Base class of a hook; each method that it overrides is called.

    Args:
        is_guard: where it breaks, nothing goes on.
    """

    is_guard = False

    async def on_message_received(self, message: Inbound) -> Inbound | Cancel:
        """Before a turn; of what comes back only the text counts."""
        return message

    async def on_turn_start(self, message: Inbound) -> None:
        """The turn begins."""

    async def before_tool_call(self, call: ToolCall) -> ToolCall | Cancel:
        """Before the gate sees it; of what comes back only the arguments count."""
        return call

    async def after_tool_call(self, call: ToolCall, result: ToolResult) -> ToolResult | Cancel:
        """Before the model sees it; of what comes back only the text counts."""
        return result

    async def on_message_sending(self, message: Inbound, text: str) -> str | Cancel:
        """The answer to `message`, before it is kept and sent."""
        return text

    async def on_turn_end(self, message: Inbound, text: str) -> None:
        """The answer is kept."""


class OwnerHooks:
    """All hooks in their order; each gets what the one before it made."""

    def __init__(self, hooks: Sequence[Hook] = (), timeout_s: float = HOOK_TIMEOUT_S) -> None:
        self._hooks = tuple(hooks)
        self._timeout_s = timeout_s

    async def received(self, message: Inbound) -> Inbound | Cancel:
        for hook in self._hooks:
            said = await self._say(hook, partial(hook.on_message_received, message), message)
            if isinstance(said, Cancel):
                return said
            # Not whose it is, and not how far it is trusted
            message = replace(message, text=said.text)
        return message

    async def sending(self, message: Inbound, text: str) -> str | Cancel:
        for hook in self._hooks:
            said = await self._say(hook, partial(hook.on_message_sending, message, text), text)
            if isinstance(said, Cancel):
                return said
            text = said if said == text else said[:MAX_TEXT_CHARS]
        return text

    @property
    def read_answers(self) -> bool:
        """Return true if a hook may change or hold back an answer."""
        return any(
            type(hook).on_message_sending is not Hook.on_message_sending for hook in self._hooks
        )

    async def turn_starts(self, message: Inbound) -> None:
        for hook in self._hooks:
            await self._say(hook, partial(hook.on_turn_start, message), None)

    async def turn_ended(self, message: Inbound, text: str) -> None:
        for hook in self._hooks:
            await self._say(hook, partial(hook.on_turn_end, message, text), None)

    async def around(
        self, call: ToolCall, use: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        """The result of a call, with the gate inside."""
        for hook in self._hooks:
            wanted = await self._say(hook, partial(hook.before_tool_call, call), call)
            if isinstance(wanted, Cancel):
                return _refused(wanted)
            call = replace(call, arguments_json=wanted.arguments_json)
        result = await use(call)
        for hook in self._hooks:
            said = await self._say(hook, partial(hook.after_tool_call, call, result), result)
            if isinstance(said, Cancel):
                # It happened; only what it said is withheld
                return result.saying(f"withheld by a hook: {said.reason}")
            result = result.saying(said.text)
        return result

    async def _say(
        self, hook: Hook, saying: Callable[[], Awaitable[_T | Cancel]], otherwise: _T
    ) -> _T | Cancel:
        name = type(hook).__name__
        try:
            async with asyncio.timeout(self._timeout_s):
                said = await saying()
        except TimeoutError:
            _log.error("hooks: timed out (hook=%s, limit_s=%g)", name, self._timeout_s)
        # Not a `sys.exit` either
        except (Exception, SystemExit):  # noqa: BLE001 - code that is not ours: its bug must not end a turn
            _log.exception("hooks: failed (hook=%s)", name)
        else:
            if isinstance(said, Cancel):
                _log.info("hooks: cancelled (hook=%s, reason=%s)", name, said.reason)
                return said
            if isinstance(said, type(otherwise)):
                return said
            _log.error("hooks: wrong type returned (hook=%s, type=%s)", name, type(said).__name__)
        return GuardFailure(_BROKEN) if hook.is_guard else otherwise


def _refused(cancel: Cancel) -> ToolResult:
    # The owner's code says so
    return ToolResult.failed(own("not allowed (hook): {}", configured(cancel.reason)))


def open_hooks(names: Sequence[str]) -> OwnerHooks:
    """All of them, made in their order.

    Raises:
        ConfigRefused: one is not there or is none; a guard that is missing guards nothing.
    """
    return OwnerHooks([_made(name) for name in names])


def _made(name: str) -> Hook:
    module, _, attribute = name.partition(":")
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, SystemExit) as err:
        raise ConfigRefused(f"`hooks.modules`: {name} cannot be loaded: {err}") from err
    if not (isinstance(kind, type) and issubclass(kind, Hook)):
        raise ConfigRefused(f"`hooks.modules`: {name} is no agent.turn.hooks.Hook")
    try:
        return kind()
    # Code that is not ours: a sentence instead of a traceback
    except (Exception, SystemExit) as err:
        said = f"SystemExit: {err}" if isinstance(err, SystemExit) else err
        raise ConfigRefused(f"`hooks.modules`: {name} broke as it was made: {said}") from err
