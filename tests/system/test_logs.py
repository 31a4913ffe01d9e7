import contextlib
import io
import logging
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import Secret
from agent.security.redact import Redactor
from agent.system import logs
from agent.system.logs import (
    MAX_LINE_CHARS,
    LogSettings,
    SystemdJournal,
    one_line,
    writes_to_journal,
)

CANARY = "canary-7f3a9b2c"


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, raising = root.handlers[:], root.level, logging.raiseExceptions
    levels = {name: logging.getLogger(name).level for name in logs._TALKATIVE}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.raiseExceptions = raising
    for name, old in levels.items():
        logging.getLogger(name).setLevel(old)


def logged_by(
    level: str = "info", environ: dict[str, str] | None = None, *secrets: Secret
) -> io.StringIO:
    stream = io.StringIO()
    logs.set_up(LogSettings(level=level), Redactor(secrets).redact, stream, environ or {})
    return stream


def log_exception(error: Exception) -> None:
    try:
        raise error
    except type(error):
        logging.getLogger("agent").exception("it broke")


def test_a_line_begins_with_time_and_level_and_names_its_module() -> None:
    stream = logged_by()
    logging.getLogger("agent.link.session").warning("no answer in %d ms", 250)
    shape = (
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z warning agent.link.session: no answer in 250 ms\n"
    )
    assert re.fullmatch(shape, stream.getvalue())


def test_records_below_the_level_are_left_out() -> None:
    stream = logged_by("warning")
    logging.getLogger("agent").info("quiet")
    logging.getLogger("agent").error("loud")
    assert "quiet" not in stream.getvalue()
    assert "loud" in stream.getvalue()


def test_setting_up_twice_does_not_double_the_lines() -> None:
    logged_by()
    stream = logged_by()
    logging.getLogger("agent").info("once")
    assert stream.getvalue().count("once") == 1


def test_libraries_are_quiet_even_when_we_debug() -> None:
    stream = logged_by("debug")
    logging.getLogger("httpx").info("HTTP Request: GET http://somewhere/?token=x")
    assert stream.getvalue() == ""


def test_a_traceback_is_one_line() -> None:
    stream = logged_by()
    log_exception(ValueError("first\nsecond"))
    assert stream.getvalue().count("\n") == 1
    assert "Traceback" in stream.getvalue()
    assert "first\\nsecond" in stream.getvalue()


def test_nothing_that_was_logged_can_forge_a_line_or_move_the_cursor() -> None:
    stream = logged_by()
    hostile = (
        "ok\n2026-01-01T00:00:00.000Z error agent: forged\r\x1b[2J\x07\u202egpj.exe\u2028x\u200b"
    )
    logging.getLogger("agent").info("name: %s", hostile)
    line = stream.getvalue()
    assert line.count("\n") == 1
    assert line.endswith("\n")
    for shown in (r"\n2026", r"\r", r"\x1b[2J", r"\x07", r"\u202e", r"\u2028", r"\u200b"):
        assert shown in line


@given(st.text())
def test_whatever_is_logged_stays_on_one_visible_line(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", line)
    line.encode()


def test_a_line_has_an_end() -> None:
    line = one_line("x" * 100_000)
    assert len(line) < MAX_LINE_CHARS + 100
    assert line.endswith("[... 100000 characters]")


def test_secrets_are_taken_out_of_messages_arguments_and_tracebacks() -> None:
    stream = logged_by("info", {}, Secret(CANARY))
    log = logging.getLogger("agent")
    log.info("in the message " + CANARY)  # noqa: G003 - the careless way is what is tested
    log.info("in an argument %s", {"key": CANARY})
    log_exception(RuntimeError(f"in an exception {CANARY}"))
    assert CANARY not in stream.getvalue()
    assert stream.getvalue().count("***") >= 3


def test_a_call_whose_arguments_do_not_fit_is_shown_and_its_secret_is_not() -> None:
    stream = logged_by("info", {}, Secret(CANARY))
    logging.getLogger("agent").info("%d things", CANARY)
    assert "%d things" in stream.getvalue()
    assert CANARY not in stream.getvalue()


def test_a_full_disk_does_not_break_the_caller() -> None:
    class FullDisk(io.StringIO):
        def write(self, text: str, /) -> int:
            raise OSError(28, "No space left on device")

    logs.set_up(LogSettings(), lambda text: text, FullDisk(), {})
    logging.getLogger("agent").error("lost")


def journal_of(path: Path) -> dict[str, str]:
    status = path.stat()
    return {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}


@pytest.mark.parametrize(
    ("level", "prefix"),
    [
        (logging.DEBUG, "<7>"),
        (logging.INFO, "<6>"),
        (logging.WARNING, "<4>"),
        (logging.ERROR, "<3>"),
        (logging.CRITICAL, "<2>"),
    ],
)
def test_in_the_journal_a_line_carries_its_priority_and_no_time(
    tmp_path: Path, level: int, prefix: str
) -> None:
    path = tmp_path / "journal"
    with path.open("w") as stream:
        logs.set_up(LogSettings(level="debug"), lambda text: text, stream, journal_of(path))
        logging.getLogger("agent.app.build").log(level, "started")
    assert path.read_text() == f"{prefix}agent.app.build: started\n"


def test_the_journal_is_known_by_its_very_pipe(tmp_path: Path) -> None:
    ours, other = tmp_path / "ours", tmp_path / "other"
    other.touch()
    with ours.open("w") as stream:
        assert writes_to_journal(stream, journal_of(ours))
        # Inherited from a service that started us with another standard error
        assert not writes_to_journal(stream, journal_of(other))
        assert not writes_to_journal(stream, {})
    assert not writes_to_journal(io.StringIO(), journal_of(ours))


def test_by_default_it_is_standard_error_of_this_process(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs.set_up(LogSettings(), lambda text: text)
    logging.getLogger("agent").error("here")
    assert "agent: here" in capsys.readouterr().err


def test_the_base_formatter_is_not_for_use() -> None:
    record = logging.LogRecord("agent", logging.INFO, "", 0, "x", (), None)
    with pytest.raises(NotImplementedError):
        logs.LineFormatter(str).format(record)


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(str(tmp_path / "socket"))
        yield bound


@pytest.fixture
def written(listening: socket.socket) -> Iterator[SystemdJournal]:
    there = SystemdJournal(Path(listening.getsockname()))
    yield there
    there.close()


def test_an_entry_is_one_datagram_of_named_lines(
    written: SystemdJournal, listening: socket.socket
) -> None:
    written.send("MESSAGE=the led is on", "PRIORITY=6", "BARNACLE_TOOL=a=b ü")
    expected = "MESSAGE=the led is on\nPRIORITY=6\nBARNACLE_TOOL=a=b ü\n"
    assert listening.recv(1000).decode() == expected


def test_a_line_feed_begins_no_other_field(
    written: SystemdJournal, listening: socket.socket
) -> None:
    written.send("MESSAGE=a\nPRIORITY=0", "PRIORITY=6")
    expected = b"MESSAGE\n" + (12).to_bytes(8, "little") + b"a\nPRIORITY=0\nPRIORITY=6\n"
    assert listening.recv(1000) == expected


def test_a_journal_that_starts_again_is_found_again(
    written: SystemdJournal, tmp_path: Path
) -> None:
    (tmp_path / "socket").unlink()
    with pytest.raises(FileNotFoundError):
        written.send("MESSAGE=lost")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as again:
        again.bind(str(tmp_path / "socket"))
        written.send("MESSAGE=kept")
        assert again.recv(1000) == b"MESSAGE=kept\n"


def test_a_journal_that_hangs_holds_nobody_up(
    listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "SEND_TIMEOUT_S", 0.01)
    there = SystemdJournal(Path(listening.getsockname()))
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as full,
        contextlib.suppress(BlockingIOError),
    ):
        full.settimeout(0)
        # Nobody reads: its queue takes so many and no more
        while full.sendto(b"MESSAGE=waits\n", listening.getsockname()):
            pass
    with pytest.raises(TimeoutError):
        there.send("MESSAGE=lost")
    there.close()


def test_where_there_is_none_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        SystemdJournal(tmp_path / "none")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileNotFoundError):
        SystemdJournal(tmp_path / "file")
