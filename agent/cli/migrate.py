"""`barnacle migrate`: a whole agent of ZeroClaw, OpenClaw or nanobot becomes this one.

Without `--yes` it only says what would be taken. What is taken does nothing by itself: jobs are
paused, files of the prompt and skills wait for their approval, memories are trusted like a page,
and nobody is let in.
"""

import asyncio
import os
import re
import shlex
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from agent.app.access import AT_THE_MACHINE
from agent.cli import configuration, exits
from agent.cli.memory_store import opened, place_of
from agent.cli.output import clean, say
from agent.cli.places import check_writable, places_of
from agent.config import expanded
from agent.errors import BadArguments, ConfigRefused, MemoryUnavailable
from agent.memory.base import Scope
from agent.memory.imports import bring_in, count
from agent.messages import Provenance
from agent.provision import settings_plan
from agent.provision.credentials import CREDENTIALS
from agent.provision.foreign_agent import ForeignAgent, read_agent
from agent.provision.foreign_jobs import ForeignJob, Left
from agent.provision.secret_values import Place, found
from agent.provision.settings_plan import Plan, ProvisionPaths
from agent.provision.toml_text import Table
from agent.schedule.job import MAX_JOBS, MAX_TEXT_CHARS, Job, State
from agent.schedule.job_book import OWNER
from agent.schedule.job_store import JobStore
from agent.settings import Paths
from agent.storage import lock
from agent.storage.files import write_atomic

_SKILLS = "skills"
# A skill is a text and a few helpers
_MAX_SKILL_BYTES = 1024 * 1024
_MAX_NAME_CHARS = 32
_MAX_SHOWN_CHARS = 60


class _Move(Struct, frozen=True):
    """Parts of a foreign agent that are taken, and those that are left.

    Args:
        settings: the configuration with the model and channels that it can use.
        copies: files of the workspace, from and to.
        left: what is not taken and why.
    """

    settings: Plan | None
    copies: tuple[tuple[Path, Path], ...]
    jobs: tuple[Job, ...]
    memories: int
    taken: tuple[str, ...]
    left: tuple[Left, ...]


def run(arguments: Namespace) -> int:
    folder = expanded(arguments.folder, os.environ)
    places = places_of(arguments)
    check_writable(places.config, "migrate")
    agent = read_agent(folder)
    _, paths = configuration.load(arguments)
    move = asyncio.run(_planned(agent, places, paths))
    _report(agent, folder, move)
    if not arguments.yes:
        named = shlex.quote(clean(str(folder)))
        say("")
        say(f"Nothing was changed. To take it: barnacle migrate {named} --yes")
        return exits.OK
    with lock.hold(paths.state_dir):
        asyncio.run(_take(arguments, agent, move, places, paths))
    return exits.OK


async def _planned(agent: ForeignAgent, places: ProvisionPaths, paths: Paths) -> _Move:
    left = list(agent.left)
    settings, told = await asyncio.to_thread(_settings, agent, places, left)
    copies = [*_prompt_copies(agent, paths, left), *_skill_copies(agent, paths, left)]
    jobs = tuple(_jobs(agent, paths, left))
    memories = await _counted(agent, left)
    taken = [
        *told,
        *(f"file {target.relative_to(paths.workspace)}" for _, target in copies),
        *(f"job {job.name}, paused: {_when(job)}" for job in jobs),
        *([f"{memories} memories, trusted like a page"] if memories else []),
    ]
    return _Move(settings, tuple(copies), jobs, memories, tuple(taken), tuple(left))


async def _counted(agent: ForeignAgent, left: list[Left]) -> int:
    """Return the number of memories; of a damaged store none, and the rest goes on."""
    if agent.memories is None:
        return 0
    try:
        return await count(agent.memories)
    except MemoryUnavailable as err:
        left.append(Left("memories", str(err)))
        return 0


def _settings(
    agent: ForeignAgent, places: ProvisionPaths, left: list[Left]
) -> tuple[Plan | None, list[str]]:
    """Return the plan with each table that is accepted, and a line about each."""
    plan: Plan | None = None
    told: list[str] = []
    tables: dict[str, Mapping[str, Mapping[str, object]]] = {}
    if agent.provider:
        tables["model"] = {"provider": agent.provider}
    for name, table in agent.channels.items():
        tables[f"channel {name}"] = {"channels": {name: table}}
    accepted: Table = {}
    for what, more in tables.items():
        if there := _own_table(more, places):
            left.append(Left(what, f"this agent has [{there}] already, and it stays"))
            continue
        trial = _joined(accepted, more)
        try:
            plan = settings_plan.planned(trial, "migrate", places)
        except ConfigRefused as err:
            left.append(Left(what, str(err).partition("\n")[0].removeprefix("migrate: ")))
            continue
        accepted = trial
        told.append(f"{what}: {_shown_table(what, agent)}")
    return plan, told


def _own_table(more: Mapping[str, Mapping[str, object]], places: ProvisionPaths) -> str:
    """Return the table of the configuration that this one would replace; empty if there is none.

    With it would go the limits on spending, and a secret that is kept nowhere else.
    """
    before = settings_plan.existing(places.config)
    ((table, settings),) = more.items()
    place: Place = (table,) if table == "provider" else (table, *settings)
    secrets = (one for one in CREDENTIALS if one[:-1] == place)
    is_there = found(before, place) or any(
        settings_plan.kept(one, before, places) for one in secrets
    )
    return ".".join(map(str, place)) if is_there else ""


def _joined(tables: Table, more: Mapping[str, Mapping[str, object]]) -> Table:
    joined = dict(tables)
    for key, value in more.items():
        there = joined.get(key)
        joined[key] = {**(there if isinstance(there, dict) else {}), **value}
    return joined


def _shown_table(what: str, agent: ForeignAgent) -> str:
    """Return a table without its secrets."""
    if what == "model":
        words = [agent.provider["kind"], agent.provider.get("model", "its usual model")]
        return clean(" ".join([*words, "with its key" if "api_key" in agent.provider else ""]))
    keys = agent.channels[what.partition(" ")[2]]
    return f"its {' and '.join(sorted(keys)).replace('_', ' ')}"


def _prompt_copies(
    agent: ForeignAgent, paths: Paths, left: list[Left]
) -> Iterator[tuple[Path, Path]]:
    for source in agent.prompt_files:
        target = paths.workspace / source.name
        if target.exists() and target.read_bytes() != source.read_bytes():
            left.append(Left(source.name, "there is another one in the workspace"))
        elif not target.exists():
            yield source, target


def _skill_copies(
    agent: ForeignAgent, paths: Paths, left: list[Left]
) -> Iterator[tuple[Path, Path]]:
    for folder in agent.skills:
        target = paths.workspace / _SKILLS / folder.name
        files = [path for path in folder.rglob("*") if path.is_file()]
        if target.exists():
            left.append(Left(f"skill {folder.name}", "there is one of that name"))
        elif any(path.is_symlink() for path in folder.rglob("*")):
            left.append(Left(f"skill {folder.name}", "it has links to other places"))
        elif sum(path.stat().st_size for path in files) > _MAX_SKILL_BYTES:
            left.append(Left(f"skill {folder.name}", "it is larger than 1 MB"))
        else:
            yield from ((path, target / path.relative_to(folder)) for path in sorted(files))


def _jobs(agent: ForeignAgent, paths: Paths, left: list[Left]) -> Iterator[Job]:
    there = JobStore(paths.jobs).every()
    names = {job.name for job in there}
    known = {_order(job) for job in there}
    for one in agent.jobs:
        shown = clean(one.name)[:_MAX_SHOWN_CHARS]
        if len(names) >= MAX_JOBS:
            left.append(Left(f"job {shown}", f"there are {MAX_JOBS} already"))
            continue
        try:
            job = _job(one, names)
        except (BadArguments, msgspec.ValidationError) as err:
            left.append(Left(f"job {shown}", str(err)))
            continue
        if _order(job) in known:
            left.append(Left(f"job {shown}", "it is there already"))
            continue
        names.add(job.name)
        if one.zone:
            left.append(Left(f"time zone {one.zone} of {job.name}", "times are the device's own"))
        yield job


def _order(job: Job) -> tuple[object, ...]:
    """Return what a job does and when, whatever it is called."""
    return job.prompt, job.message, job.cron, job.at_s, job.every_s


def _job(one: ForeignJob, names: set[str]) -> Job:
    if one.at_s and one.at_s < time.time():
        raise BadArguments("its time is over")
    if len(one.prompt or one.message) > MAX_TEXT_CHARS:
        raise BadArguments(f"it is longer than {MAX_TEXT_CHARS} characters")
    stem = re.sub(r"[^a-z0-9_-]+", "-", one.name.lower()).strip("-_")
    stem = stem if stem[:1].isalpha() else f"job-{stem}".rstrip("-")
    stem = stem[: _MAX_NAME_CHARS - 3]
    name = next(
        each
        for each in (stem, *(f"{stem}-{n}" for n in range(2, MAX_JOBS + 2)))
        if each not in names
    )
    job = Job(
        name=name,
        channel=AT_THE_MACHINE.channel,
        target=AT_THE_MACHINE.target,
        person=OWNER,
        cron=one.cron,
        at_s=one.at_s,
        every_s=one.every_s,
        prompt=one.prompt,
        message=one.message,
        state=State.PAUSED,
        created_s=time.time(),
    )
    # Its times are read as a running agent would
    return msgspec.convert(msgspec.to_builtins(job), Job)


def _when(job: Job) -> str:
    if job.cron:
        return f"at {job.cron}"
    if job.every_s:
        return f"every {job.every_s / 60:.0f} min"
    return time.strftime("at %Y-%m-%d %H:%M", time.localtime(job.at_s))


def _report(agent: ForeignAgent, folder: Path, move: _Move) -> None:
    say(f"{agent.name} in {clean(str(folder))}")
    say("Taken:" if move.taken else "Nothing can be taken.")
    for line in move.taken:
        say(f"  {clean(line)}")
    if move.left:
        say("Not taken:")
    for one in move.left:
        say(f"  {clean(one.what)}: {clean(one.why)}")


async def _take(
    arguments: Namespace, agent: ForeignAgent, move: _Move, places: ProvisionPaths, paths: Paths
) -> None:
    for source, target in move.copies:
        content = await asyncio.to_thread(source.read_bytes)
        await asyncio.to_thread(write_atomic, target, content)
    store = JobStore(paths.jobs)
    for job in move.jobs:
        await asyncio.to_thread(store.add, job)
    if agent.memories is not None and move.memories:
        async with opened(place_of(arguments)) as memory:
            await bring_in(memory, agent.memories, Scope(), Provenance.WEB)
    # Last: a channel without its memories and files would be half an agent
    if move.settings is not None:
        await asyncio.to_thread(settings_plan.take, move.settings, places)
    say("")
    say("Taken. Nothing of it acts yet:")
    say("  barnacle prompt                    which files count; approve each by its hash")
    say("  barnacle skills list               the same for skills")
    say("  barnacle jobs resume NAME          a job")
    say("  barnacle pair                      a code that lets you in")
    say("Stop the other agent before this one starts: two cannot listen to one bot.")
