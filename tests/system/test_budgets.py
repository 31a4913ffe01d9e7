"""What a start loads and what an installation weighs: counts and sizes, never wall-clock time."""

import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.board_sim import BoardSim, unavailable_reason
from tests.fakes.chat_process import ChatProcess
from tests.fakes.llm_thread import LlmThread
from tests.structure.locks import pins
from tests.structure.sources import ROOT

# Loaded by the first thing that uses them, or never
UNUSED = frozenset(
    {
        *("onnxruntime", "numpy", "tokenizers", "starlette", "uvicorn"),
        *("gpiozero", "smbus2", "psycopg"),
    }
)
# The embedding runtime: what requirements.lock has on top of the plain dependencies
EMBEDDING_RUNTIME = frozenset(
    {"numpy", "onnxruntime", "tokenizers", "flatbuffers", "packaging", "protobuf"}
)
MOST_MODULES_FOR_VERSION = 20
# Beyond what these bring, of which each Python has another number
_BARE = "import asyncio, pathlib, ssl, sqlite3"
MOST_MODULES_FOR_DAEMON = 218
MOST_MB = 80
MOST_MB_WITH_EMBEDDINGS = 260
# Of the first request to a model: prompt, tools and a short message
MOST_REQUEST_BYTES = 8 * 1024
# What brings tools of its own without any hardware
ENABLED = """
[web.search.duckduckgo]
[agents.reader]
about = "reads long pages and sums them up"
tools = ["web_fetch"]
"""
_START_TIMEOUT_S = 15
# One of each kind of thing that can be wired to a board
WIRED = {
    "arm": {"pin": "PA6", "kind": "servo"},
    "bus": {"pin": "PB6", "kind": "i2c", "sda": "PB7"},
    "fan": {"pin": "PA8", "kind": "pwm", "frequency": 2000},
    "flow": {"pin": "PB14", "kind": "counter", "debounce_ms": 1},
    "gps": {"pin": "PA9", "kind": "uart", "uart": 1},
    "knob": {"pin": "PB4", "kind": "encoder", "pin_b": "PB5"},
    "ring": {"pin": "PB15", "kind": "neopixel", "count": 8},
    "room": {"pin": "PB6", "kind": "bme280", "sda": "PB7", "aliases": ["living room"]},
    "shed": {"pin": "PB13", "kind": "dht22"},
    "shift": {"pin": "PA4", "kind": "spi", "sck": "PA5", "mosi": "PA10", "miso": "PA3"},
    "tank": {"pin": "PB12", "kind": "ds18b20"},
}


def loaded_by(*arguments: str, state: Path) -> set[str]:
    """The modules that Python loads for a command line, beyond those of an empty program."""
    return _modules(arguments, state) - _modules(("-c", "pass"), state)


def _modules(arguments: tuple[str, ...], state: Path) -> set[str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        cwd=ROOT,
        env=kept | {"HOME": str(state), "BARNACLE_STATE_DIR": str(state / "state")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_START_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = (line for line in done.stderr.splitlines() if line.startswith("import time:"))
    return {line.rpartition("|")[2].strip() for line in lines}


@pytest.mark.parametrize(
    "command",
    [
        ("-c", "import agent.app.build"),
        ("-m", "agent.cli.main", "--help"),
        ("-m", "agent.cli.main", "check"),
        ("-m", "agent.cli.main", "chat", "--plain"),
    ],
    ids=" ".join,
)
def test_a_start_loads_nothing_that_it_does_not_use(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    loaded = {module.partition(".")[0] for module in loaded_by(*command, state=tmp_path)}
    assert sorted(loaded & UNUSED) == []


def test_the_version_is_told_without_loading_the_agent(tmp_path: Path) -> None:
    # As the installed command does; -m would load what finds modules
    program = "from agent.cli.main import main; main(['--version'])"
    loaded = loaded_by("-c", program, state=tmp_path)
    assert len(loaded) <= MOST_MODULES_FOR_VERSION, sorted(loaded)


def test_the_daemon_loads_few_modules(tmp_path: Path) -> None:
    loaded = loaded_by("-c", "import agent.app.build", state=tmp_path)
    loaded -= loaded_by("-c", _BARE, state=tmp_path)
    assert len(loaded) <= MOST_MODULES_FOR_DAEMON, sorted(loaded)


def test_no_value_of_a_start_is_a_dataclass(tmp_path: Path) -> None:
    """Each is put together from source text, which takes forty times as long as a Struct."""
    assert "dataclasses" not in loaded_by("-c", "import agent.app.build", state=tmp_path)


def test_the_count_of_modules_can_fail(tmp_path: Path) -> None:
    assert "numpy" in loaded_by("-c", "import numpy", state=tmp_path)


def test_the_installation_is_small() -> None:
    bytes_of = {name: _installed_bytes(name) for name in _runtime_packages()}
    embedding = sum(size for name, size in bytes_of.items() if name in EMBEDDING_RUNTIME)
    total_mb = (sum(bytes_of.values()) + _agent_bytes()) / 1e6
    assert total_mb <= MOST_MB_WITH_EMBEDDINGS, bytes_of
    assert total_mb - embedding / 1e6 <= MOST_MB, bytes_of


def _runtime_packages() -> list[str]:
    names = sorted(pins(ROOT / "scripts" / "requirements.lock"))
    assert set(names) >= EMBEDDING_RUNTIME
    return names


def _installed_bytes(package: str) -> int:
    files = importlib.metadata.files(package) or []
    return sum(_size(Path(str(file.locate()))) for file in files)


def _agent_bytes() -> int:
    return sum(_size(path) for path in _agent_files())


def _agent_files() -> Iterator[Path]:
    yield from (ROOT / "agent").rglob("*.py")


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


@pytest.mark.skipif(unavailable_reason() is not None, reason=str(unavailable_reason()))
def test_the_first_request_is_small_with_everything_connected(tmp_path: Path) -> None:
    (tmp_path / "board").mkdir()
    (tmp_path / "state" / "workspace" / "documents").mkdir(parents=True)
    devices = [{"kind": kind, "pin": pin} for kind, pin in (("bme280", "PB6"), ("dht22", "PB13"))]
    with LlmThread() as service, BoardSim(tmp_path / "board", {"devices": devices}) as board:
        chat = ChatProcess(tmp_path, _config(service.server.base_url, board))
        with chat:
            assert "on" in chat.say("turn the led on")
            first = service.server.requests[0]
            assert int(first.headers["content-length"]) <= MOST_REQUEST_BYTES
            shown = {tool["function"]["name"] for tool in _tools(first.body)}
            assert {"tool_search", "board_info", "board_gpio_write", "memory_recall"} <= shown
            # What is not shown is found in the same turn, and meets the gate as any other
            said = chat.say("when room.humidity is above 60 switch the led on for 2 s")
            assert "needs the owner's yes" in said
            last = service.server.requests[-1]
            assert "reflex_add" in {tool["function"]["name"] for tool in _tools(last.body)}
            assert int(last.headers["content-length"]) <= 2 * MOST_REQUEST_BYTES


def _config(base_url: str, board: BoardSim) -> str:
    wired = "".join(
        f"[board.pins.{name}]\n" + "".join(f"{key} = {json.dumps(v)}\n" for key, v in pin.items())
        for name, pin in WIRED.items()
    )
    return f'[provider]\nbase_url = "{base_url}"\n[board]\nport = "{board.port}"\n{wired}{ENABLED}'


def _tools(body: dict[str, object]) -> list[dict[str, dict[str, str]]]:
    tools = body["tools"]
    assert isinstance(tools, list)
    return tools
