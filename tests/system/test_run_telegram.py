"""`barnacle run` with a bot, from the code in its log to an answer, and what it says of itself."""

import asyncio
import contextlib
import json
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from agent.health.starts import MANY_STARTS, Starts
from agent.health.status import read_status
from agent.system.clock import SystemClock
from tests.fakes import llm_server, telegram_server
from tests.fakes.chat_process import chat_environ
from tests.fakes.llm_server import Json, Reply
from tests.fakes.obedient_model import obey
from tests.fakes.telegram_server import Fault, TelegramServer
from tests.fakes.telegram_world import ANNA
from tests.waits import wait_until

LIMIT_S = 40.0


def config(server: TelegramServer, model_url: str) -> str:
    return (
        f'[provider]\nbase_url = "{model_url}"\nmodel = "fake"\n[embeddings]\nprovider = "none"\n'
        f'[channels.telegram]\nbase_url = "{server.base_url}"\ntoken = "{server.token}"\n'
    )


@contextlib.asynccontextmanager
async def daemon(folder: Path, text: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agent.cli.main", "run"),
        env=chat_environ(folder, text),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def code_in_log(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    async with asyncio.timeout(LIMIT_S):
        while line := (await process.stderr.readline()).decode():
            if found := re.search(r"/pair ([A-Z0-9-]+)", line):
                return found[1]
    raise AssertionError("there is no code in the log")


async def until_shown(server: TelegramServer, wanted: str) -> None:
    await wait_until(lambda: any(wanted in text for text in server.world.shown(ANNA)))


async def test_a_person_pairs_with_the_code_in_the_log_and_is_answered(tmp_path: Path) -> None:
    async with telegram_server.running() as server, llm_server.running(obey) as model:
        server.longest_poll_s = 1.0
        async with daemon(tmp_path, config(server, model.base_url)) as process:
            await server.world.write(f"/pair {await code_in_log(process)}")
            await until_shown(server, "wner")
            await server.world.write("Hello there")
            await until_shown(server, "I only obey a few phrases.")
            process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(LIMIT_S):
                await process.communicate()
            assert process.returncode == 0


async def test_told_to_end_in_a_turn_it_ends_at_once_and_answers_after_the_next_start(
    tmp_path: Path,
) -> None:
    hangs = asyncio.Event()

    def respond(request: Json) -> Reply:
        return Reply(stalls=True) if hangs.is_set() else obey(request)

    async with telegram_server.running() as server, llm_server.running(respond) as model:
        server.longest_poll_s = 1.0
        async with daemon(tmp_path, config(server, model.base_url)) as process:
            await server.world.write(f"/pair {await code_in_log(process)}")
            await until_shown(server, "wner")
            hangs.set()
            asked = len(model.requests)
            await server.world.write("Hello there")
            await wait_until(lambda: len(model.requests) != asked)
            process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(LIMIT_S):
                await process.communicate()
            assert process.returncode == 0
        hangs.clear()
        async with daemon(tmp_path, config(server, model.base_url)):
            await until_shown(server, "I only obey a few phrases.")
        assert server.world.shown(ANNA).count("I only obey a few phrases.") == 1


async def test_in_a_crash_loop_it_talks_without_tools_and_tells_the_owner(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    starts = Starts(tmp_path / "state" / "starts.json", SystemClock())
    async with telegram_server.running() as server, llm_server.running(obey) as model:
        server.longest_poll_s = 1.0
        async with daemon(tmp_path, config(server, model.base_url)) as process:
            await server.world.write(f"/pair {await code_in_log(process)}")
            await until_shown(server, "wner")
            # A kill is no orderly end
            process.kill()
            await process.wait()
        assert [starts.begin() for _ in range(MANY_STARTS - 2)] == [False] * (MANY_STARTS - 2)
        async with daemon(tmp_path, config(server, model.base_url)):
            await until_shown(server, "so I now only talk and use no tools")
            await server.world.write("Remember that my cat is called Mia")
            await until_shown(server, "No tool memory_store")


async def test_a_bot_that_is_not_reached_is_in_the_status_until_it_is(tmp_path: Path) -> None:
    async with telegram_server.running() as server, llm_server.running(obey) as model:
        server.longest_poll_s = 1.0
        server.faults.extend(Fault("getUpdates", html=502) for _ in range(100))
        async with daemon(tmp_path, config(server, model.base_url)) as process:
            await code_in_log(process)
            await wait_until(lambda: _trouble(tmp_path))
            server.faults.clear()
            await wait_until(lambda: not _trouble(tmp_path))


async def test_the_doctor_says_how_long_ago_the_bot_was_heard_and_when_nobody_answers(
    tmp_path: Path,
) -> None:
    async with telegram_server.running() as server, llm_server.running(obey) as model:
        server.longest_poll_s = 1.0
        text = config(server, model.base_url)
        assert "no agent is running" in (await examined(tmp_path, text))["channels"]["sentence"]
        async with daemon(tmp_path, text) as process:
            await code_in_log(process)
            async with asyncio.timeout(LIMIT_S):
                while (
                    "connected: telegram"
                    not in (found := await examined(tmp_path, text))["channels"]["sentence"]
                ):
                    assert found["channels"]["level"] == "ok"
            assert re.search(r"connected: telegram \d+ s ago", found["channels"]["sentence"])
            # Asking has attached nobody: the agent answers as before
            assert {found[name]["level"] for name in ("chat", "telegram")} == {"ok"}, found
            process.send_signal(signal.SIGSTOP)
            found = await examined(tmp_path, text)
            assert found["channels"]["level"] == "failed"
            assert "does not answer" in found["channels"]["sentence"]


async def examined(folder: Path, text: str) -> dict[str, dict[str, str]]:
    """What `barnacle doctor` finds."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agent.cli.main", "doctor", "--json"),
        env=chat_environ(folder, text),
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(LIMIT_S):
        said, _ = await process.communicate()
    found: dict[str, dict[str, str]] = json.loads(said)
    return found


def _trouble(folder: Path) -> str:
    status = read_status(folder / "state" / "status.json")
    return "" if status is None else "".join(one.trouble for one in status.channels)
