"""`barnacle jobs list | remove | pause | resume | run`: what the agent does at times.

A running agent sees a change within half a minute.
"""

import asyncio
from argparse import Namespace

from agent.cli import exits, surroundings
from agent.cli.output import clean, say, say_json
from agent.clock import SystemClock
from agent.passage import plain
from agent.schedule.book import OWNER, JobBook
from agent.schedule.store import JobStore


def run(arguments: Namespace) -> int:
    _, paths = surroundings.of(arguments)
    asyncio.run(_obey(JobBook(JobStore(paths.jobs), SystemClock()), arguments))
    return exits.OK


async def _obey(book: JobBook, arguments: Namespace) -> None:
    if arguments.action == "list":
        if arguments.json:
            say_json(plain(await book.listed(OWNER)))
        else:
            for line in (await book.told_to(OWNER)).splitlines():
                print(clean(line))
        return
    name = arguments.name
    match arguments.action:
        case "remove":
            await book.remove(name, OWNER)
            say(f"{name} is removed")
        case "run":
            await book.run(name, OWNER)
            say(f"{name} runs within half a minute, once an agent is at work")
        case "pause":
            await book.pause(name, OWNER, is_paused=True)
            say(f"{name} is paused; `barnacle jobs resume {name}` has it go on")
        case _:
            await book.pause(name, OWNER, is_paused=False)
            say(f"{name} goes on")
