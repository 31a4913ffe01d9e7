"""`barnacle update` on a card in a folder."""

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.cli import exits, update
from agent.cli.main import main
from agent.update import probation
from agent.update.probation import TrialVerdict
from agent.update.records import UpdateRecords
from tests.fakes.card import NEW, OLD, Card, Started, make_key
from tests.waits import wait_until_sync

ROOT = Path(__file__).resolve().parents[2]
Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def card(tmp_path: Path) -> Card:
    return Card(tmp_path / "card", make_key(tmp_path / "key.pem"))


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """The command that watches takes the log over."""
    root = logging.getLogger()
    before, level = [*root.handlers], root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)


@pytest.fixture
def restarts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the machine would have been restarted with."""
    asked: list[str] = []
    monkeypatch.setattr(update, "_restart", asked.append)
    return asked


@pytest.fixture
def say(card: Card, capsys: pytest.CaptureFixture[str]) -> Say:
    def run(*words: object) -> tuple[int, str, str]:
        status = main(["update", *map(str, words), "--root", str(card.root)])
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def bundle(card: Card, tmp_path: Path) -> Path:
    path = tmp_path / "new.update"
    path.write_bytes(card.bundle())
    return path


def test_a_file_is_installed_with_progress_and_tried(
    card: Card, say: Say, bundle: Path, restarts: list[str]
) -> None:
    status, out, err = say(bundle)
    assert status == exits.OK
    assert f"version {NEW} is in slot B, verified" in out
    assert "writing: 5 %" in err
    assert "verifying: 100 %" in err
    assert restarts == ["0 tryboot"]
    assert card.would_start(is_trial=True) == Started("B", NEW)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_signals_do_afterwards_what_they_did_before(
    say: Say, bundle: Path, number: signal.Signals
) -> None:
    before = signal.signal(number, signal.SIG_IGN)
    try:
        say(bundle, "--later")
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_later_it_only_waits(say: Say, bundle: Path, restarts: list[str]) -> None:
    _, out, _ = say(bundle, "--later")
    assert "start it with `barnacle update try`" in out
    assert restarts == []
    assert say("status")[1] == (
        f"version {OLD} runs, from slot A\nversion {NEW} is in slot B: written\n"
    )
    say("try")
    assert restarts == ["0 tryboot"]


@pytest.mark.parametrize(
    "verdict", [TrialVerdict(is_kept=True), TrialVerdict(is_kept=False, reason="why")]
)
def test_what_watches_a_trial_keeps_it_or_restarts(
    card: Card,
    say: Say,
    bundle: Path,
    restarts: list[str],
    verdict: TrialVerdict,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def judged(*_: object) -> TrialVerdict:
        return verdict

    monkeypatch.setattr(probation, "judge", judged)
    say(bundle)
    card.start(is_trial=True)
    status, _, err = say("watch")
    assert status == exits.OK
    assert "update: on trial (healthy_min=10)" in err
    assert ("update: kept" if verdict.is_kept else f"to={OLD}, reason=why") in err
    assert restarts == (["0 tryboot"] if verdict.is_kept else ["0 tryboot", ""])
    assert card.start() == (Started("B", NEW) if verdict.is_kept else Started("A", OLD))
    say("watch")
    shown = json.loads(say("status", "--json")[1])
    assert shown["trial"] is None
    assert shown["version"] == (NEW if verdict.is_kept else OLD)
    assert (shown["outcome"]["is_kept"], shown["outcome"]["reason"]) == (
        verdict.is_kept,
        verdict.reason,
    )


def test_a_trial_can_be_kept_at_once_and_left_again(
    card: Card, say: Say, bundle: Path, restarts: list[str]
) -> None:
    say(bundle)
    card.start(is_trial=True)
    assert "on trial" in say("status")[1]
    assert say("commit")[0] == exits.OK
    assert f"version {OLD} is in slot A: `barnacle update rollback`" in say("status")[1]
    assert say("rollback")[0] == exits.OK
    assert restarts == ["0 tryboot", ""]
    assert card.start() == Started("A", OLD)


def test_a_pi_whose_kernel_knows_no_tryboot_is_warned_of(
    card: Card, say: Say, bundle: Path, restarts: list[str]
) -> None:
    (card.root / "proc/device-tree").mkdir()
    (card.root / "proc/device-tree/compatible").write_bytes(b"raspberrypi,3-model-b\0")
    assert "put the old os_prefix= back into config.txt" in say(bundle)[2]
    assert restarts == [""]
    assert card.would_start() == Started("B", NEW)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["try"], "no version waits"),
        (["commit"], "not on trial"),
        (["rollback"], "no complete version to return to"),
        (["missing.update"], "missing.update: No such file"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    say: Say, restarts: list[str], words: list[str], said: str
) -> None:
    status, _, err = say(*words)
    assert status == exits.FAILED
    assert said in err
    assert len(err.splitlines()) == 1
    assert restarts == []


@pytest.mark.parametrize("word", ["", "try", "commit", "rollback"])
def test_nothing_changes_where_the_next_start_would_not_know_of_it(
    card: Card, say: Say, bundle: Path, restarts: list[str], word: str
) -> None:
    """An update that is cut leaves a slot that starts nothing, and a record that calls it whole."""
    say(bundle)
    card.start(is_trial=True)
    say("commit")
    restarts.clear()
    records = card.machine().records
    kept = records.rename(records.with_name("real"))
    aside = card.root / "run/barnacle-aside"
    aside.parent.mkdir()
    aside.write_text("3 starts ended early\n")
    newer = bundle.with_name("newer.update")
    newer.write_bytes(card.bundle("0.3.0")[:-1])
    status, _, err = say(word or newer)
    assert status == exits.FAILED
    assert "the data partition is not in use in this start (3 starts ended early)" in err
    assert say("status")[0] == exits.OK
    aside.unlink()
    shutil.rmtree(records, ignore_errors=True)
    kept.rename(records)
    assert restarts == []
    assert say("rollback")[0] == exits.OK
    assert card.start() == Started("A", OLD)


def test_elsewhere_it_says_how_this_machine_is_updated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["update", "status", "--root", str(tmp_path)]) == exits.FAILED
    assert "update it the way it was installed" in capsys.readouterr().err


def test_a_damaged_update_changes_nothing(
    card: Card, say: Say, bundle: Path, restarts: list[str]
) -> None:
    bundle.write_bytes(bundle.read_bytes()[:-1])
    status, _, err = say(bundle)
    assert status == exits.FAILED
    assert "is incomplete" in err
    assert restarts == []
    assert UpdateRecords(card.machine().records).trial() is None


def waits(process: "subprocess.Popen[str]") -> int:
    """Return the number of times that its main thread has waited for something."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt"))


def test_behind_nohup_it_goes_on_when_the_shell_and_its_screen_are_gone(
    card: Card, tmp_path: Path
) -> None:
    content = card.bundle()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = ["nohup", sys.executable, "-m", "agent.cli.main", "update", pipe, "--later"]
    with subprocess.Popen(
        [*command, "--root", card.root],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    ) as running:
        assert running.stderr is not None
        assert running.stdout is not None
        with pipe.open("wb") as feeding:
            feeding.write(content[: len(content) - 50_000])
            feeding.flush()
            assert running.stderr.readline().startswith(b"writing")
            running.stderr.close()
            running.stdout.close()
            running.send_signal(signal.SIGHUP)
            feeding.write(content[len(content) - 50_000 :])
        running.wait(15)
    trial = UpdateRecords(card.machine().records).trial()
    assert trial is not None
    assert (trial.slot, trial.version) == ("B", NEW)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_whoever_goes_away_in_its_middle_leaves_what_runs(
    card: Card, tmp_path: Path, number: signal.Signals
) -> None:
    content = card.bundle()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # A shell that runs the tests in the background has its programs ignore Ctrl-C
    command = ["env", "--default-signal=INT", sys.executable, "-m", "agent.cli.main"]
    command += ["update", pipe, "--root", card.root]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) as running:
        assert running.stderr is not None
        with pipe.open("wb") as feeding:
            feeding.write(content[: len(content) - 50_000])
            feeding.flush()
            # It has begun to write
            assert running.stderr.readline().startswith("writing")
            before = waits(running)
            running.send_signal(number)
            # The end of the pipe must not come before it has noticed and waits in a read again
            wait_until_sync(lambda: running.poll() is not None or waits(running) > before)
        assert running.wait(15) == exits.INTERRUPTED
        assert "Traceback" not in running.stderr.read()
    assert card.would_start(is_trial=True) == Started("A", OLD)
    assert UpdateRecords(card.machine().records).trial() is None
