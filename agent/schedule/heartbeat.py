"""Regular look at HEARTBEAT.md in the workspace, as a job of its own.

Many programs can write that file, so its turn is trusted like text from a tool. While the file is
empty there is no such job, and no model is asked.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from agent.errors import BarnacleError
from agent.messages import Address, Provenance
from agent.schedule.job import HEARTBEAT, Job
from agent.schedule.job_store import JobStore
from agent.security.paths import open_beneath
from agent.system.clock import Clock, rest
from agent.turn.outcome import NOTHING_TO_SAY

_log = logging.getLogger(__name__)

FILE_NAME = "HEARTBEAT.md"
# A list of things to look after; what is longer costs with every turn
MAX_CHARS = 4000
# How soon a new list counts; each look is one open
LOOK_S = 60.0
_MINUTE_S = 60.0
# What a person left as a note to themselves, or as a frame without content
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FRAME = re.compile(r"\s*(#.*|[-*+]\s*(\[ ?\])?|[-=_*]{3,})?\s*")


def orders(workspace: Path) -> str:
    """Return the text of the file; "" if it is missing or has only headings."""
    try:
        with open_beneath(workspace, FILE_NAME) as file:
            text = file.read(4 * MAX_CHARS).decode(errors="replace")[:MAX_CHARS]
    except (OSError, BarnacleError):
        return ""
    lines = _COMMENT.sub("", text).splitlines()
    return text.strip() if any(not _FRAME.fullmatch(line) for line in lines) else ""


def prompt(workspace: Path) -> str:
    """Return the prompt of the turn; "" if there is nothing to ask."""
    if not (said := orders(workspace)):
        return ""
    return (
        f"Nobody has written; this is your regular look at {FILE_NAME}. Do what it says, as far as "
        "it is time for it, and repeat nothing of earlier talk. Tell the person only what they "
        f"should know now; if there is nothing, answer {NOTHING_TO_SAY} and no other word."
        f"\n\n{said}"
    )


# Where the owner is reached now, the best place first; nowhere while no channel leads to them
Home = Callable[[], Sequence[Address]]


class Heartbeat(Struct, frozen=True):
    """Keeps the job in step with the file and the configuration."""

    store: JobStore
    clock: Clock
    every_minutes: int
    workspace: Path
    home: Home

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            try:
                await asyncio.to_thread(self.settle)
            except (BarnacleError, OSError) as err:
                _log.error("heartbeat: job not updated (file=%s): %s", FILE_NAME, err)
            await rest(self.clock, LOOK_S)

    def settle(self) -> None:
        """Make, change or remove the job; blocking."""
        home = next(iter(self.home()), None)
        there = next((job for job in self.store.every() if job.name == HEARTBEAT), None)
        if not self.every_minutes or not orders(self.workspace):
            if there is not None:
                self.store.remove(HEARTBEAT)
        elif there is None and home is not None:
            self.store.add(self._job(home))
        elif there is not None and self._wanted(there, home) != there:
            self.store.change(HEARTBEAT, lambda job: self._wanted(job, home))

    def _job(self, home: Address) -> Job:
        return Job(
            name=HEARTBEAT,
            channel=home.channel,
            target=home.target,
            thread=home.thread,
            person="owner",
            sender=home.person,
            trust=int(Provenance.TOOL),
            every_s=self.every_minutes * _MINUTE_S,
            prompt=f"what {FILE_NAME} says",
            created_s=self.clock.wall_s(),
        )

    def _wanted(self, job: Job, home: Address | None) -> Job:
        wanted = replace(job, every_s=self.every_minutes * _MINUTE_S)
        if home is None:
            return wanted
        return replace(
            wanted,
            channel=home.channel,
            target=home.target,
            thread=home.thread,
            sender=home.person,
        )
