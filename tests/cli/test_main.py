import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent import __version__
from agent.cli import commands, exits
from agent.cli.main import SWITCH_S, main
from agent.errors import LinkLost, StorageFull

START_TIMEOUT_S = 10
COMMAND = (sys.executable, "-m", "agent.cli.main")


def environ(folder: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "BARNACLE_STATE_DIR": str(folder / "state"),
    }


def barnacle(folder: Path, *words: str, **options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words],
        env=environ(folder) | options,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=START_TIMEOUT_S,
        check=False,
    )


class Raising:
    """A command module whose `run` raises."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def run(self, _: object) -> int:
        raise self._error


def run_raising(monkeypatch: pytest.MonkeyPatch, error: BaseException, *words: str) -> int:
    monkeypatch.setattr(commands.importlib, "import_module", lambda _: Raising(error))
    return main(["status", *words])


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == exits.OK
    assert capsys.readouterr().out == f"barnacle {__version__}\n"


def test_no_command_shows_the_help_and_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == exits.USAGE
    assert "examples:" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        *[
            [command, "--help"]
            for command in ("run", "chat", "check", "status", "doctor", "memory", "board")
        ],
        *[["memory", action, "--help"] for action in ("list", "search", "export")],
        *[["board", action, "--help"] for action in ("list", "info", "call")],
    ],
    ids=" ".join,
)
def test_every_command_has_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == exits.OK
    assert len(capsys.readouterr().out) > 200


@pytest.mark.parametrize(
    "words",
    [
        ["stauts"],
        ["memory"],
        ["memory", "list", "--limit", "0"],
        ["memory", "list", "--limit", "many"],
        ["board", "call"],
        ["board", "call", "x", "--hold", "nan"],
        ["board", "call", "x", "--hold", "-1"],
        ["check", "--jso"],
        ["status", "--js"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_short_and_names_the_help(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == exits.USAGE
    said = capsys.readouterr().err
    assert "--help" in said
    assert len(said.splitlines()) <= 3


def test_an_expected_error_is_one_clean_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = LinkLost("the board \x1b[31mis\nnot there")
    assert run_raising(monkeypatch, error) == exits.FAILED
    assert capsys.readouterr().err == "barnacle: the board [31mis not there\n"


def test_an_error_of_the_system_names_the_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = PermissionError(13, "Permission denied", "/state/agent.db")
    assert run_raising(monkeypatch, error) == exits.FAILED
    assert capsys.readouterr().err == "barnacle: /state/agent.db: Permission denied\n"


def test_a_bug_is_one_line_with_the_way_to_its_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_raising(monkeypatch, KeyError("lost")) == exits.FAILED
    said = capsys.readouterr().err
    assert "KeyError" in said
    assert "--debug" in said
    assert len(said.splitlines()) == 1


def test_a_bug_shows_its_traceback_when_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_raising(monkeypatch, KeyError("lost"), "--debug") == exits.FAILED
    assert "Traceback" in capsys.readouterr().err


def test_errors_that_come_together_are_one_line_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = ExceptionGroup("tasks", [StorageFull("no room")])
    group = ExceptionGroup("tasks", [LinkLost("no board"), inner])
    assert run_raising(monkeypatch, group) == exits.FAILED
    assert capsys.readouterr().err == "barnacle: no board\nbarnacle: no room\n"


def test_ctrl_c_is_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_raising(monkeypatch, KeyboardInterrupt()) == exits.INTERRUPTED
    assert capsys.readouterr().err == ""


def test_a_refused_configuration_is_wrong_usage_with_every_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "b.toml"
    config.write_text("[board]\nbdua = 1\nport = 2\n")
    assert main(["--config", str(config), "status"]) == exits.USAGE
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"barnacle: {config}: `board.bdua`: unknown key; did you mean `baud`?"
    assert "`board.port`" in second


def test_options_of_every_command_may_stand_before_and_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["--state-dir", str(tmp_path), "status"], ["status", "--state-dir"]):
        assert main([*words, *([] if words[-1] == "status" else [str(tmp_path)])]) == exits.OK
        assert str(tmp_path) in capsys.readouterr().out


class TestProgram:
    @pytest.mark.parametrize("words", ["check --example", "--version", "--help"])
    def test_nobody_who_reads_is_no_traceback(self, tmp_path: Path, words: str) -> None:
        program = subprocess.Popen(
            [*COMMAND, *words.split()],
            env=environ(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert program.stdout is not None
        program.stdout.close()
        assert program.stderr is not None
        assert program.stderr.read() == b""
        assert program.wait(START_TIMEOUT_S) == exits.NOBODY_READS
        program.stderr.close()

    def test_an_interrupt_ends_it_quietly(self, tmp_path: Path) -> None:
        silent, theirs = os.openpty()
        program = subprocess.Popen(
            # Whoever runs the tests in the background has left it ignored
            [
                "env",
                "--default-signal=INT",
                *COMMAND,
                "board",
                "info",
                "--port",
                os.ttyname(theirs),
            ],
            env=environ(tmp_path),
            stderr=subprocess.PIPE,
        )
        # It has greeted: so it waits for an answer
        os.read(silent, 1)
        time.sleep(0.05)
        program.send_signal(signal.SIGINT)
        assert program.stderr is not None
        assert program.stderr.read() == b""
        assert program.wait(START_TIMEOUT_S) == exits.INTERRUPTED
        program.stderr.close()
        for handle in (silent, theirs):
            os.close(handle)

    def test_a_terminal_that_knows_few_letters_is_no_traceback(self, tmp_path: Path) -> None:
        done = barnacle(tmp_path, "memory", "search", "小美", PYTHONIOENCODING="ascii")
        assert "Traceback" not in done.stderr
        assert done.returncode == exits.OK

    def test_words_that_are_not_utf8_are_no_traceback(self, tmp_path: Path) -> None:
        done = barnacle(tmp_path, "memory", "search", os.fsdecode(b"caf\xe9"))
        assert (done.returncode, done.stderr) == (exits.OK, "")

    @pytest.mark.parametrize("words", ["jobs list", "--version", "--help", "check --example"])
    def test_an_output_that_cannot_be_written_is_said_and_no_traceback(
        self, tmp_path: Path, words: str
    ) -> None:
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [*COMMAND, *words.split()],
                env=environ(tmp_path),
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                timeout=START_TIMEOUT_S,
                check=False,
            )
        said = "barnacle: cannot write the output: No space left on device\n"
        assert (done.returncode, done.stderr) == (exits.FAILED, said)

    @pytest.mark.parametrize(
        ("closed", "words", "status"),
        [
            ("<&-", "setup", exits.USAGE),
            (">&-", "jobs list", exits.OK),
            (">&-", "--version", exits.OK),
            (">&- 2>&-", "--help", exits.OK),
            ("<&- >&- 2>&-", "jobs pause tea", exits.USAGE),
        ],
    )
    def test_what_was_closed_before_the_start_is_no_traceback(
        self, tmp_path: Path, closed: str, words: str, status: int
    ) -> None:
        done = subprocess.run(
            ["sh", "-c", f'"$0" -m agent.cli.main {words} {closed}', sys.executable],
            env=environ(tmp_path),
            capture_output=True,
            text=True,
            timeout=START_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == status, done.stderr
        assert "bug" not in done.stderr
        assert "Traceback" not in done.stderr


def test_a_thread_that_computes_holds_up_the_others_for_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before_s = sys.getswitchinterval()
    monkeypatch.setattr(commands, "run", lambda _words: exits.OK)
    try:
        assert main(["status"]) == exits.OK
        assert sys.getswitchinterval() == pytest.approx(SWITCH_S)
    finally:
        sys.setswitchinterval(before_s)
