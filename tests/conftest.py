"""What holds for every test: no network, nobody's own settings, and no silent skip."""

import gc
import ipaddress
import os
import socket
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest

from firmware.host import interpreter
from tests import canaries, leftovers
from tests.canaries import (
    pytest_runtest_makereport,
    pytest_sessionfinish,
    pytest_testnodedown,
)
from tests.open_ends import nothing_is_left_open

__all__ = [
    "nothing_is_left_open",
    "pytest_runtest_makereport",
    "pytest_sessionfinish",
    "pytest_testnodedown",
]

_ROOT = Path(__file__).resolve().parents[1]
_MADE = _ROOT / ".barnacle"
_REMOTE_FAMILIES = frozenset({socket.AF_INET, socket.AF_INET6})
# Which audit event looks up names, and which argument of the others is the address
_LOOKUPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"})
_SENDING = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})

# Tests that import the model's runtime by themselves: it would note this machine in a folder
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

# A slow board is no failure; in CI the same examples every time
hypothesis.settings.register_profile(
    "barnacle",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    print_blob=True,
)
hypothesis.settings.load_profile("barnacle")


class NetworkForbiddenError(RuntimeError):
    """A test tried to leave this machine."""


_attempts: list[str] = []


def _guard(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse every name and address that is not this machine's own, at the interpreter's edge."""
    if event in _LOOKUPS:
        host = arguments[0]
    elif event in _SENDING:
        endpoint, address = arguments[0], arguments[1]
        if getattr(endpoint, "family", None) not in _REMOTE_FAMILIES:
            return
        host = address[0] if isinstance(address, tuple) else None
    else:
        return
    if not _stays_here(host, may_be_any_number=event in _LOOKUPS):
        _attempts.append(f"{event} {host!r}")
        raise NetworkForbiddenError(f"a test tried to reach {host!r}")


def _stays_here(host: object, *, may_be_any_number: bool) -> bool:
    # No host is a wildcard to listen on, or a socket that is connected already
    if host in {None, "", b"", "localhost", b"localhost"}:
        return True
    try:
        address = ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host))
    except ValueError:
        return False
    # A number is not looked up anywhere; connecting to it is another event
    return may_be_any_number or address.is_loopback


def _is_setting_of_ours(name: str) -> bool:
    # Which interpreter there is belongs to the machine
    return name.startswith("BARNACLE_") and name != "BARNACLE_MICROPYTHON"


sys.addaudithook(_guard)


def pytest_configure(config: pytest.Config) -> None:
    leftovers.watch(config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Without the garbage collector: nearly all that is collected stays until the run ends.

    To look through it again and again took every worker a third of the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        # What the modules did leave behind is theirs to answer for
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def _no_network() -> Iterator[None]:
    """Fails the test even when the code under test swallowed the refusal."""
    _attempts.clear()
    yield
    assert not _attempts, f"the test tried to leave this machine: {', '.join(_attempts)}"


@pytest.fixture(autouse=True, scope="session")
def lines_with_a_secret() -> Iterator[list[str]]:
    leaked: list[str] = []
    with canaries.overheard_logs(leaked):
        yield leaked


@pytest.fixture(autouse=True)
def _no_secret_in_the_log(lines_with_a_secret: list[str]) -> Iterator[None]:
    """Not even one that nobody reads: a log is kept, and sent to whoever is asked for help."""
    lines_with_a_secret.clear()
    yield
    assert not lines_with_a_secret, f"a secret was logged: {lines_with_a_secret}"


@pytest.fixture(autouse=True, scope="session")
def _nobodys_settings() -> Iterator[None]:
    """Keys, proxies and folders of the person who runs the tests are none of their business."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.upper().endswith(("API_KEY", "_PROXY")) or _is_setting_of_ours(name):
                patch.delenv(name)
        for name, value in canaries.INHERITED.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def micropython_command() -> list[str]:
    """The command that starts a MicroPython on this machine."""
    try:
        return interpreter.find()
    except interpreter.NoInterpreter as err:
        pytest.skip(str(err))


@pytest.fixture(scope="session")
def model_dir() -> Path:
    """The folder of the embedding model that scripts/setup has built."""
    folder = _MADE / "model"
    if not (folder / "model.onnx").exists():
        pytest.skip(f"no embedding model in {folder}: run scripts/setup --dev")
    return folder


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not tested, what was unsteady, and that a gate failed before the tests began."""
    failed = {report.nodeid for report in terminalreporter.stats.get("failed", [])}
    tried = terminalreporter.stats.get("rerun", [])
    unsteady = [report for report in tried if report.nodeid not in failed]
    if unsteady:
        title = f"unsteady, passed at a second try: {len(unsteady)}"
        terminalreporter.section(title, yellow=True)
    for report in unsteady:
        terminalreporter.write_line(f"{report.nodeid}: its first try ended so:")
        terminalreporter.write_line(report.longreprtext)
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.section(f"skipped: {len(skipped)}")
    for report in skipped:
        # Where, line, and "Skipped: reason"
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        terminalreporter.write_line(f"{report.nodeid}: {str(reason).removeprefix('Skipped: ')}")
    canaries.say(terminalreporter)
    if os.environ.get("BARNACLE_CHECK") == "failed":
        terminalreporter.section("scripts/check FAILED before the tests: see above", red=True)
