"""`barnacle chat`: a conversation in this terminal, with the running agent or an own one."""

import asyncio
from argparse import Namespace

from agent.cli import attached_chat, configuration
from agent.cli.loop import run_in_loop
from agent.errors import StateInUse
from agent.settings import Paths, Settings

# An agent that is only just starting has its state before it listens
STARTING_PATIENCE_S = 3.0
_LOOK_S = 0.1


def run(arguments: Namespace) -> int:
    settings, paths = configuration.load(arguments)
    return run_in_loop(_chat(arguments, settings, paths))


async def _chat(arguments: Namespace, settings: Settings, paths: Paths) -> int:
    plain = arguments.plain
    if (way := attached_chat.find(arguments, paths)) is None:
        from agent.app import run  # noqa: PLC0415 - to attach needs nothing of an agent

        try:
            return await run.chat(settings, paths, plain=plain)
        except StateInUse:
            way = await _found_after_all(arguments, paths)
            if way is None:
                raise
    return await attached_chat.chat(way, settings, paths, plain=plain)


async def _found_after_all(arguments: Namespace, paths: Paths) -> attached_chat.Way | None:
    for _ in range(round(STARTING_PATIENCE_S / _LOOK_S)):
        if (way := attached_chat.find(arguments, paths)) is not None:
            return way
        await asyncio.sleep(_LOOK_S)
    return None
