"""One suite for every board: the simulated one by default, a real one with --port."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firmware.host.result_form import Measurement, TrialOutcome, TriedBoard, form
from firmware.host.tester import Tester
from firmware.host.wire import Wire
from tests.fakes.board_cable import BoardCable
from tests.fakes.board_sim import BoardSim, unavailable_reason

Pin = dict[str, Any]

_BOARD = pytest.StashKey[TriedBoard]()
_MEASURED = pytest.StashKey[list[Measurement]]()
# The board's start before it, and a call that waits for its deadline
_AROUND_A_SOAK_S = 120.0
_OPTIONS = ("loopback", "tester", "across", "soak")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("board")
    group.addoption("--port", help="a real board's port; without it a board is simulated")
    group.addoption(
        "--loopback",
        action="append",
        metavar="OUT,IN",
        help="two pins of the board that are connected by a wire, such as d2,d4; repeatable",
    )
    group.addoption(
        "--tester",
        metavar="PORT",
        help="a second board that runs the firmware too, and watches the first one by its inputs",
    )
    group.addoption(
        "--across",
        action="append",
        metavar="OUT,IN",
        help="an output of the board that is wired to an input of the tester, such as d2,d4; "
        "repeatable; connect the grounds as well",
    )
    group.addoption(
        "--soak",
        type=float,
        metavar="SECONDS",
        help="how long to keep the board busy; the simulated one 2 s without it",
    )
    group.addoption(
        "--form", action="store_true", help="print the result in the form to send to the project"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a bench that cannot be: a simulated board would pass in the place of a real one."""
    given = {name: config.getoption(f"--{name}", None) for name in ("port", "tester", "across")}
    needs = {"tester": ("port", "across"), "across": ("port", "tester")}
    for name, others in needs.items():
        for other in others if given[name] else ():
            if not given[other]:
                raise pytest.UsageError(f"--{name} needs --{other}: see hardware-tests/README.md")
    ports = [path for path in (given["port"], given["tester"]) if path]
    for path in ports:
        if reason := _no_port(path):
            raise pytest.UsageError(reason)
    if len({os.path.realpath(path) for path in ports}) < len(ports):
        raise pytest.UsageError("--port and --tester name the same port: name one for each board")


def _no_port(path: str) -> str:
    port = Path(path)
    if not port.exists():
        return f"there is no port {path}: `barnacle board list` shows those that are"
    if not port.is_char_device():
        return f"{path} is no port: `barnacle board list` shows those that are"
    if not os.access(path, os.R_OK | os.W_OK):
        return f"you may not use {path}: sudo usermod -aG dialout $USER, then log in again"
    return ""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give the soak the time that it is told to take."""
    wanted_s = config.getoption("--soak")
    for item in items if wanted_s else ():
        if item.path.name == "test_soak.py":
            item.add_marker(pytest.mark.timeout(wanted_s + _AROUND_A_SOAK_S))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the form, the last thing of a run with --form."""
    if not config.getoption("--form"):
        return
    outcomes = [
        TrialOutcome(report.nodeid.partition("::")[2], result, _reason(report))
        for result in ("failed", "error", "skipped", "passed")
        for report in terminalreporter.stats.get(result, ())
        if result != "passed" or report.when == "call"
    ]
    options = {name: str(config.getoption(f"--{name}") or "") for name in _OPTIONS}
    board, measured = config.stash.get(_BOARD, None), config.stash.get(_MEASURED, [])
    terminalreporter.write_line(form(board, outcomes, options, measured))


def _reason(report: pytest.TestReport) -> str:
    if report.passed:
        return ""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message) if crash is not None else str(report.longrepr)


@pytest.fixture(scope="session")
def simulated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BoardSim | None]:
    """The simulated board, or None when a real one is tested."""
    if request.config.getoption("--port"):
        yield None
        return
    if reason := unavailable_reason():
        pytest.skip(reason)
    with BoardSim(tmp_path_factory.mktemp("board")) as board:
        yield board


@pytest.fixture
def wire(request: pytest.FixtureRequest, simulated: BoardSim | None) -> Iterator[Wire]:
    """A fresh session with the board; its outputs are safe before and after."""
    port = str(simulated.port if simulated else request.config.getoption("--port"))
    with Wire(port) as opened:
        opened.greet()
        _, _, *firmware, build = opened.greeting[:6]
        version = ".".join(map(str, firmware))
        shown = "simulated" if simulated else port
        request.config.stash[_BOARD] = TriedBoard(opened.name, version, build, shown)
        opened.clear()
        yield opened
        opened.greet()
        opened.clear()


@pytest.fixture
def manifest(wire: Wire) -> dict[str, Any]:
    """The board's manifest, without the pins that its configuration has taken."""
    described: dict[str, Any] = json.loads(wire.manifest())
    described["pins"] = wire.free_pins(described)
    return described


class Rig:
    """A board that is asked by the names of its manifest."""

    def __init__(self, wire: Wire, manifest: dict[str, Any]) -> None:
        self.wire = wire
        self.manifest = manifest

    def method(self, name: str) -> int:
        found = [one["id"] for one in self.manifest["methods"] if one["name"] == name]
        if not found:
            pytest.skip(f"{self.manifest['board']} has no {name}")
        return int(found[0])

    def write(self, pin: dict[str, Any], value: int) -> int:
        return self.wire.call(self.method("gpio_write"), bytes([pin["index"], value]))[0]

    def read(self, pin: dict[str, Any]) -> int:
        return self.wire.call(self.method("gpio_read"), bytes([pin["index"]]))[0]


@pytest.fixture
def rig(wire: Wire, manifest: dict[str, Any]) -> Rig:
    return Rig(wire, manifest)


@pytest.fixture
def jumpers(
    request: pytest.FixtureRequest, manifest: dict[str, Any], simulated: BoardSim | None
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Pairs of pins that are connected by a wire: what switches, what sees it."""
    named = request.config.getoption("--loopback") or []
    if simulated is not None and not named:
        simulated.order({"wire": {"button": "pump", "d2": "relay"}})
        named = ["pump,button", "relay,d2"]
    if not named:
        pytest.skip("the rig has no wire between two pins: connect two and name them: --loopback")
    return _wires("--loopback", named, manifest["pins"], manifest["pins"])


def _wires(option: str, named: list[str], near: list[Pin], far: list[Pin]) -> list[tuple[Pin, Pin]]:
    """Return the two pins of each wire; a name that is none ends the test with those that are."""
    found = []
    for pair in named:
        out, _, into = pair.partition(",")
        sources = [pin for pin in near if pin["name"] == out]
        targets = [pin for pin in far if pin["name"] == into]
        if not sources or not targets:
            here, there = (", ".join(pin["name"] for pin in pins) for pins in (near, far))
            text = f"{option} {pair}: say OUT,IN, with OUT one of {here} and IN one of {there}"
            pytest.fail(text, pytrace=False)
        found.append((sources[0], targets[0]))
    return found


class Bench:
    """A rig whose outputs a second board watches."""

    def __init__(
        self,
        rig: Rig,
        tester: Tester,
        pairs: list[tuple[Pin, Pin]],
        measured: list[Measurement],
    ) -> None:
        self.rig = rig
        self.tester = tester
        self.pairs = pairs
        self._measured = measured

    def note(self, what: str, measured_ms: float, expected: str) -> None:
        """Keep a time for the form."""
        self._measured.append(Measurement(what, measured_ms, expected))


@pytest.fixture(scope="session")
def second(
    simulated: BoardSim | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BoardSim | None]:
    """The simulated tester, or None when real boards are on the bench."""
    if simulated is None:
        yield None
        return
    with BoardSim(tmp_path_factory.mktemp("tester")) as board:
        yield board


@pytest.fixture
def bench(
    request: pytest.FixtureRequest, rig: Rig, simulated: BoardSim | None, second: BoardSim | None
) -> Iterator[Bench]:
    """The board with a second one at its outputs."""
    port = second.port if second else request.config.getoption("--tester")
    named = ["pump,button"] if second else request.config.getoption("--across") or []
    if not port or not named:
        pytest.skip("the rig has no second board: wire outputs to its inputs: --tester, --across")
    with contextlib.ExitStack() as stack:
        wire = stack.enter_context(Wire(str(port)))
        wire.greet()
        far = json.loads(wire.manifest())["pins"]
        found = _wires("--across", named, rig.manifest["pins"], far)
        if simulated and second:
            joined = {source["name"]: target["name"] for source, target in found}
            inverted = frozenset(
                source["name"]
                for source, target in found
                if source.get("active_low", False) != target.get("active_low", False)
            )
            stack.enter_context(BoardCable(simulated, second, joined, inverted))
        tester = stack.enter_context(Tester(wire, [target["index"] for _, target in found]))
        measured = request.config.stash.setdefault(_MEASURED, [])
        yield Bench(rig, tester, found, measured)
