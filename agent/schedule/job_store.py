"""Store of jobs in a file that people can read, and edit while the agent runs.

Blocking; whoever is in an event loop calls it in a thread.
"""

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agent.errors import BadArguments
from agent.schedule.job import MAX_JOBS, Job
from agent.storage.documents import changing, open_documents

if TYPE_CHECKING:
    from tinydb import TinyDB


class JobStore:
    """Jobs by name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: TinyDB | None = None
        # Whoever is in an event loop comes from a thread each time
        self._alone = threading.RLock()

    def every(self) -> list[Job]:
        """Return the jobs by name; makes no file, and leaves invalid entries alone."""
        with self._alone:
            if not self._path.exists():
                return []
            jobs = []
            for document in self._documents().all():
                with contextlib.suppress(msgspec.ValidationError, BadArguments):
                    jobs.append(msgspec.convert(document, Job))
            return sorted(jobs, key=lambda job: job.name)

    def find(self, name: str) -> Job:
        """Return the job; raise BadArguments with the known names if there is none."""
        jobs = {job.name: job for job in self.every()}
        if name not in jobs:
            known = f"there are {', '.join(jobs)}" if jobs else "there are none"
            raise BadArguments(f"there is no job {name!r}: {known}")
        return jobs[name]

    def add(self, job: Job) -> None:
        """Add a job; raise BadArguments if the store is full or the name is taken.

        What is over stays to be looked at until its room is needed.
        """
        with self._alone, changing(self._path) as documents:
            from tinydb import where  # noqa: PLC0415 - only where something is kept

            jobs = self.every()
            if job.name in [one.name for one in jobs]:
                raise BadArguments(f"a job {job.name} already exists: remove it first")
            if len(jobs) >= MAX_JOBS:
                over = [one for one in jobs if one.is_over]
                if not over:
                    raise BadArguments(f"there are {MAX_JOBS} jobs already: remove one first")
                oldest = min(over, key=lambda one: one.at_s)
                documents.remove(where("name") == oldest.name)
            documents.insert(msgspec.to_builtins(job))

    def change(self, name: str, change: Callable[[Job], Job]) -> Job:
        """Change a job; raise BadArguments if it is gone."""
        with self._alone, changing(self._path) as documents:
            from tinydb import where  # noqa: PLC0415 - as above

            before = self.find(name)
            after = change(before)
            if after != before:
                documents.update(msgspec.to_builtins(after), where("name") == name)
            return after

    def remove(self, name: str) -> None:
        with self._alone, changing(self._path) as documents:
            from tinydb import where  # noqa: PLC0415 - as above

            self.find(name)
            documents.remove(where("name") == name)

    def _documents(self) -> "TinyDB":
        if self._opened is None:
            self._opened = open_documents(self._path)
        # Somebody may have changed the file meanwhile
        self._opened.clear_cache()
        return self._opened
