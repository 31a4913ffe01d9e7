"""`barnacle status`: what is configured, and what the running agent last said of itself."""

import time
from argparse import Namespace
from collections.abc import Iterator

import msgspec

from agent import __version__
from agent.cli import configuration, exits
from agent.cli.output import say_json, say_table
from agent.health.report import board_sentence
from agent.health.status import AgentStatus, read_status
from agent.providers.spending import read_day, today
from agent.schedule.job_list import summed_up
from agent.schedule.job_store import JobStore
from agent.schedule.zone import local_zone
from agent.settings import Paths, Settings


def run(arguments: Namespace) -> int:
    settings, paths = configuration.load(arguments)
    status = read_status(paths.status_file)
    if arguments.json:
        say_json(_as_json(settings, paths, status))
    else:
        spent = _spent_today(settings, paths)
        rows = (*_rows_of_agent(status), *spent, *_jobs(paths))
        say_table([*rows, *_rows_of_settings(settings, paths)])
    return exits.OK


def _as_json(settings: Settings, paths: Paths, status: AgentStatus | None) -> dict[str, object]:
    return {
        "version": __version__,
        "running": status is not None and status.is_running,
        "config": str(paths.config) if paths.config else None,
        "state_dir": str(paths.state_dir),
        "workspace": str(paths.workspace),
        "autonomy": settings.agent.autonomy.value,
        "spent_today": msgspec.to_builtins(read_day(paths.agent_db, today(time.time()))),
        "agent": msgspec.to_builtins(status) if status else None,
    }


def _rows_of_agent(status: AgentStatus | None) -> Iterator[tuple[str, str]]:
    if status is None:
        yield ("agent", "not running; start it with `barnacle chat` or `barnacle run`")
        return
    since = _moment(status.since_s)
    if not status.is_running:
        yield ("agent", f"not running (last started {since}); its last status:")
    else:
        yield ("agent", f"running since {since}, pid {status.pid}")
    yield ("provider", status.provider or "none")
    if status.stopped:
        yield ("estop", f"set ({status.stopped}); clear it with `barnacle estop --clear`")
    for board in status.every_board:
        yield (board.name, board_sentence(board))
    for channel in status.channels:
        yield ("channel", f"{channel.name}: {channel.trouble or 'works'}")
    if status.storage:
        yield ("storage", status.storage)
    for sentence in status.machine:
        yield ("machine", sentence)
    if status.memory:
        yield ("memory", status.memory)
    if status.last_error:
        yield ("last error", f"{_moment(status.last_error_at_s)}: {status.last_error}")


def _spent_today(settings: Settings, paths: Paths) -> Iterator[tuple[str, str]]:
    """Yield today's spending from the database, which any running agent updates."""
    spent = read_day(paths.agent_db, today(time.time()))
    if spent is not None and spent.requests:
        yield ("spent today", spent.in_words(settings.provider.daily_limit_usd))


def _jobs(paths: Paths) -> Iterator[tuple[str, str]]:
    """Yield the summary of the jobs from their file, or why there is none."""
    try:
        jobs = JobStore(paths.jobs).every()
    except OSError as err:
        # What the agent says of itself is worth the more now
        yield ("jobs", f"cannot be read: {err.filename}: {err.strerror}")
        return
    if said := summed_up(jobs, time.time(), local_zone()):
        yield ("jobs", said)


def _rows_of_settings(settings: Settings, paths: Paths) -> Iterator[tuple[str, str]]:
    yield ("config", str(paths.config or "no file: every key has its default"))
    yield ("state", str(paths.state_dir))
    yield ("workspace", str(paths.workspace))
    yield ("autonomy", settings.agent.autonomy.value)


def _moment(wall_s: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(wall_s))
    except (OverflowError, OSError, ValueError):
        return "at an unknown time"
