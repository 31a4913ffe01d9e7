"""`barnacle jobs list | remove | pause | resume | run`: what the agent does at times, and timers.

A running agent sees a change within half a minute.
"""

import asyncio
from argparse import Namespace

from agent.app.scheduler import Scheduler
from agent.cli import configuration, exits
from agent.cli.output import clean, say, say_json
from agent.passage import plain
from agent.schedule.job_book import OWNER, JobBook
from agent.schedule.job_store import JobStore
from agent.system.clock import SystemClock


def run(arguments: Namespace) -> int:
    settings, paths = configuration.load(arguments)
    book = JobBook(JobStore(paths.jobs), SystemClock())
    if arguments.action == "list":
        agenda = Scheduler(settings, paths, SystemClock())
        asyncio.run(_list(agenda, as_json=arguments.json))
    else:
        asyncio.run(_obey(book, arguments))
    return exits.OK


async def _list(agenda: Scheduler, *, as_json: bool) -> None:
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
            say(f"{name} removed")
        case "run":
            await book.run(name, OWNER)
            say(f"{name} will run within half a minute, once an agent is running")
        case "pause":
            await book.pause(name, OWNER, is_paused=True)
            say(f"{name} paused; `barnacle jobs resume {name}` resumes it")
        case _:
            await book.pause(name, OWNER, is_paused=False)
            say(f"{name} resumed")
