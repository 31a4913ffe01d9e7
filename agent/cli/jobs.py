"""`barnacle jobs list | remove | pause | resume | run`: what the agent does at times, and timers.

A running agent sees a change within half a minute.
"""

import asyncio
from argparse import Namespace

from agent.agenda import Agenda
from agent.cli import exits, surroundings
from agent.cli.output import clean, say, say_json
from agent.clock import SystemClock
from agent.passage import plain
from agent.schedule.book import OWNER, JobBook
from agent.schedule.store import JobStore


def run(arguments: Namespace) -> int:
    settings, paths = surroundings.of(arguments)
    book = JobBook(JobStore(paths.jobs), SystemClock())
    if arguments.action == "list":
        agenda = Agenda(settings, paths, SystemClock())
        asyncio.run(_list(agenda, as_json=arguments.json))
    else:
        asyncio.run(_obey(book, arguments))
    return exits.OK


async def _list(agenda: Agenda, *, as_json: bool) -> None:
    if as_json:
        listed = [*await agenda.book.listed(OWNER), *await agenda.timers.every()]
        say_json(plain(listed))
        return
    for line in (await agenda.told_to(OWNER)).splitlines():
        print(clean(line))


async def _obey(book: JobBook, arguments: Namespace) -> None:
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
