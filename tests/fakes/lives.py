"""Processes that begin at once, for kills by the dozen: everything is imported before they fork.

`python -m tests.fakes.lives MODULE`: each line of its input holds, as JSON, the arguments of the
module's `main` in a process of its own; its id and then its exit status are a line each.
"""

import asyncio
import contextlib
import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator, Coroutine, Iterator

# What an agent imports when it first needs it
LIBRARIES = ("anyio._backends._asyncio", "httpcore", "httpx", "markdown_it", "serial", "tinydb")
PACKAGES = ("channels", "messaging", "turn", "memory", "providers", "schedule", "tools")
# A start of the interpreter on a busy machine
LIMIT_S = 20.0


class Lives:
    """One after the other, each with its arguments."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @contextlib.asynccontextmanager
    async def begin(self, *arguments: str) -> AsyncIterator["Life"]:
        """Until it ends, or until the block does."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(arguments) + "\n")
        self._process.stdin.flush()
        life = Life(await asyncio.to_thread(self._told), asyncio.to_thread(self._told))
        try:
            yield life
        finally:
            if not life.ending.done():
                # One that ends by itself at this moment, as on a disk without power, is gone
                with contextlib.suppress(ProcessLookupError):
                    os.kill(life.pid, signal.SIGKILL)
            await life.ended()

    def _told(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())


class Life:
    def __init__(self, pid: int, ending: Coroutine[None, None, int]) -> None:
        self.pid = pid
        self.ending = asyncio.ensure_future(ending)

    def freeze(self) -> None:
        """Let it compute no more, as without power; what it began is neither done nor told."""
        # One that has ended is as silent
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGSTOP)

    async def ended(self) -> int:
        """Its exit status, once it has one."""
        async with asyncio.timeout(LIMIT_S):
            return await asyncio.shield(self.ending)


@contextlib.contextmanager
def lives_of(module: str) -> Iterator[Lives]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.lives", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Lives(process)
        finally:
            process.kill()


def serve(module: str) -> None:
    for early in (*LIBRARIES, *_modules()):
        # What is optional need not be installed
        with contextlib.suppress(ImportError):
            importlib.import_module(early)
    main = importlib.import_module(module).main
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                asyncio.run(main(*json.loads(line)))
                os._exit(0)
            except BaseException:  # noqa: BLE001 - a child must not go on as its parent
                traceback.print_exc()
                os._exit(1)
        _tell(pid)
        _, status = os.waitpid(pid, 0)
        _tell(os.waitstatus_to_exitcode(status))


def _modules() -> Iterator[str]:
    for package in PACKAGES:
        folder = importlib.import_module(f"agent.{package}").__path__
        yield from (one.name for one in pkgutil.walk_packages(folder, f"agent.{package}."))


def _tell(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
