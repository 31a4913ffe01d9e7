"""Records in the journal with what they are about; once with a journal that really runs."""

import asyncio
import importlib.machinery
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.config import Secret
from agent.security.redact import Redactor
from agent.system.logs import MAX_FIELD_CHARS, FieldsHandler, about

JOURNALD = Path("/lib/systemd/systemd-journald")
CANARY = "canary-7f3a9b2c"
ROOT = Path(__file__).parents[1]
# A file system of its own for /run; the journal of this machine sees nothing of it
_SCRIPT = """
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal /run/log/journal || exit 1
"$1" & journald=$!
trap 'kill $journald' EXIT
for _ in $(seq 100); do [ -S /run/systemd/journal/stdout ] && break; sleep 0.05; done
"$2" -c "$3" || exit 1
for _ in $(seq 100); do
    found=$(journalctl -q -D /run/log/journal BARNACLE_TOOL=board_gpio_write -o export)
    [ -n "$found" ] && break; sleep 0.05
done
echo "$found"
"""
# As systemd does it: standard error is a stream to the journal, and JOURNAL_STREAM names it
_PROGRAM = """
import logging, os, socket, sys
from agent.system import logs
stream = socket.socket(socket.AF_UNIX)
stream.connect("/run/systemd/journal/stdout")
stream.sendall(b"barnacle\\n\\n6\\n1\\n0\\n0\\n0\\n")
os.dup2(stream.fileno(), 2)
status = os.fstat(2)
os.environ["JOURNAL_STREAM"] = f"{status.st_dev}:{status.st_ino}"
logs.set_up(logs.LogSettings(), str)
with logs.about(conversation="telegram:1", tool="board_gpio_write"):
    logging.getLogger("agent.turn.turn").warning("the led is %s", "on")
"""


# systemd's library is Debian's, for the Python of Debian
LIBRARY = Path("/usr/lib/python3/dist-packages/systemd")
TRIES_TO_MOUNT = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/run"]


def missing() -> str:
    """Why no journal can be tried here; empty where one can."""
    if not JOURNALD.exists() or not shutil.which("unshare"):
        return "systemd-journald and unshare are needed"
    if subprocess.run(TRIES_TO_MOUNT, capture_output=True, check=False).returncode:
        return "nobody may mount a /run of their own here"
    return ""


def without_library() -> str:
    """Why systemd's library cannot be tried by this Python; empty where it can."""
    ending = importlib.machinery.EXTENSION_SUFFIXES[0]
    if not (LIBRARY / f"_journal{ending}").exists():
        return f"python3-systemd is not installed for {sys.implementation.cache_tag}"
    return ""


MISSING, NO_LIBRARY = missing(), without_library()


@pytest.fixture
def sent() -> list[dict[str, str]]:
    return []


@pytest.fixture
def log(sent: list[dict[str, str]]) -> Iterator[logging.Logger]:
    def send(*fields: str) -> None:
        sent.append(dict(field.split("=", 1) for field in fields))

    log = logging.getLogger("tests.journal")
    handler = FieldsHandler(Redactor([Secret(CANARY)]).redact, send)
    log.addHandler(handler)
    log.propagate, before = False, log.propagate
    yield log
    log.removeHandler(handler)
    log.propagate = before


def test_a_record_says_what_it_is_about_and_where_it_was_made(
    log: logging.Logger, sent: list[dict[str, str]]
) -> None:
    with about(conversation="telegram:1", message_id="7"):
        with about(tool="time_now"):
            log.warning("it is %s", "late")
        log.error("again")
    log.critical("outside")
    assert sent[0]["MESSAGE"] == "tests.journal: it is late"
    assert sent[0]["PRIORITY"] == "4"
    assert sent[0]["CODE_FUNC"].startswith("test_a_record_says")
    assert sent[0]["CODE_FILE"] == __file__
    ours = [{key: one[key] for key in one if key.startswith("BARNACLE_")} for one in sent]
    within = {"BARNACLE_CONVERSATION": "telegram:1", "BARNACLE_MESSAGE_ID": "7"}
    assert ours == [{**within, "BARNACLE_TOOL": "time_now"}, within, {}]


async def test_tasks_say_what_they_were_begun_about(
    log: logging.Logger, sent: list[dict[str, str]]
) -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        log.warning("done")

    with about(board="left"):
        left = asyncio.ensure_future(work())
    with about(board="right"):
        right = asyncio.ensure_future(work())
    await asyncio.gather(left, right)
    assert [one["BARNACLE_BOARD"] for one in sent] == ["left", "right"]


def test_fields_are_cut_hold_no_secret_and_begin_no_field(
    log: logging.Logger, sent: list[dict[str, str]]
) -> None:
    with about(tool=f"{CANARY}\nPRIORITY=0", conversation="x" * 1000):
        log.warning("a\nPRIORITY=0 %s", CANARY)
    assert "\n" not in "".join(sent[0].values())
    assert CANARY not in "".join(sent[0].values())
    assert len(sent[0]["BARNACLE_CONVERSATION"]) == MAX_FIELD_CHARS
    assert sent[0]["PRIORITY"] == "4"


def test_a_journal_that_is_away_costs_a_record_and_no_work(log: logging.Logger) -> None:
    def refuse(*_fields: str) -> None:
        raise ConnectionRefusedError

    log.addHandler(handler := FieldsHandler(str, refuse))
    log.warning("lost")
    log.removeHandler(handler)


@pytest.fixture(
    params=[
        pytest.param("by-the-socket"),
        pytest.param(
            "by-the-library",
            marks=pytest.mark.skipif(bool(NO_LIBRARY), reason=NO_LIBRARY),
        ),
    ]
)
def packages(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder that shadows whatever else this Python has of systemd's library."""
    if request.param == "by-the-library":
        (tmp_path / "systemd").symlink_to(LIBRARY)
    else:
        (tmp_path / "systemd.py").write_text("raise ImportError")
    return tmp_path


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_journalctl_finds_a_record_by_its_tool(packages: Path) -> None:
    command = ["unshare", "-m", "bash", "-c", _SCRIPT, "journal", JOURNALD, sys.executable]
    done = subprocess.run(
        [*map(str, command), _PROGRAM],
        capture_output=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(packages)},
        timeout=18,
    )
    found = done.stdout.decode().splitlines()
    assert "MESSAGE=agent.turn.turn: the led is on" in found, done.stderr
    assert {"PRIORITY=4", "BARNACLE_CONVERSATION=telegram:1"} <= set(found)
    # Neither way says it a second time on the stream
    assert found.count("BARNACLE_TOOL=board_gpio_write") == 1
