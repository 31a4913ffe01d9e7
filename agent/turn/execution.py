"""Execution of a tool call, and the trust of a turn after it read the result.

Whatever a tool meets is a result. A failure that nobody vouches for is trusted as little as the
least of what the tool declares to read.
"""

import logging
import re
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from agent.errors import BarnacleError, StorageFull
from agent.messages import ChatMessage, Effect, Role, ToolResult
from agent.passage import Passage, Provenance, own
from agent.tools.base import AnyTool, ToolContext

# What providers show a picture for, whoever wrote it; anybody may have made what it shows
_PICTURE = re.compile(r"\[IMAGE:", re.IGNORECASE)

_log = logging.getLogger(__name__)

BeforeEffect = Callable[[], Awaitable[None]]


async def execute(
    tool: AnyTool,
    arguments: object,
    context: ToolContext,
    before_effect: BeforeEffect,
    confirm: BeforeEffect,
) -> ToolResult:
    """Do it; nothing that goes wrong is raised."""
    try:
        if tool.effect_of(arguments) is not Effect.READ:
            await before_effect()
        # Last of all: between this and the act nothing waits
        await confirm()
        return await tool.execute(arguments, context)
    except StorageFull as err:
        why = err.words(tool.reads)
        return ToolResult.failed(own("refused, because it could not be recorded: {}", why))
    except BarnacleError as err:
        return ToolResult.failed(err.words(tool.reads))
    except Exception:  # noqa: BLE001 - the tool-call supervisor: a tool's bug must not end the turn
        _log.exception("turn: tool failed (tool=%s)", tool.name)
        broke = own("{} broke; the log says how", tool.spec().about.saying(tool.name))
        return ToolResult.failed(broke)


def for_model(result: ToolResult) -> Passage:
    """The words that a model is shown of it."""
    return result.words if result.success else own("error: {}", result.words)


def shown_by(message: ChatMessage) -> Passage:
    """Return what a model sees of a message, with the pictures that a person's words name."""
    # A history is long, and hardly a message has a bracket
    if message.role is Role.USER and "[" in message.text and _PICTURE.search(message.text):
        return message.words.below(Provenance.WEB, "a picture")
    return message.words


def lowered(context: ToolContext, words: Passage) -> ToolContext:
    """Of two that are trusted alike the one that was read last has its source told."""
    is_named = bool(words.source) and words.provenance == context.provenance
    if words.provenance >= context.provenance and not is_named:
        return context
    source = words.source or context.source
    return replace(context, provenance=words.provenance, source=source)
