"""Starts that end early are counted; after some of them the data partition is left alone."""

import os
import subprocess
from pathlib import Path

import pytest

from agent.cli import exits
from image.lib import layout, ramdisk
from image.lib.system_tree import OVERLAY

PROGRAMS = OVERLAY / "usr/lib/barnacle"
SECTOR = layout.SECTOR
KEPT = ("config", "credstore", "sealed", "systemd", "device", "connections", "NetworkManager")
# Those of the initial RAM disk that change the machine; a card is a folder here
FAKES = {
    "mount": """\
echo "mount $*" >>"$FAKES_LOG"
case $* in
    *-o\\ ro,noload*) [ -e "$FAKES_LOG.unreadable" ] && exit 32; how=copy ;;
    *-t\\ ext4*) [ -e "$FAKES_LOG.broken" ] && exit 32; how=copy ;;
    *) exit 0 ;;
esac
for target in "$@"; do :; done
cp -a "$FAKES_CARD/." "$target/"
""",
    "umount": 'echo "umount $*" >>"$FAKES_LOG"\nrm -rf "$1"/*\n',
    "fsck.ext4": 'echo "fsck $*" >>"$FAKES_LOG"\n[ ! -e "$FAKES_LOG.broken" ] || exit 8\n',
    "modprobe": "exit 0\n",
    "sync": "exit 0\n",
    "chroot": """\
under=$1 program=$2
shift 2
for word in "$@"; do
    shift
    case $word in
        /*) set -- "$@" "$under$word" ;;
        *) set -- "$@" "$word" ;;
    esac
done
exec "$program" "$@"
""",
}


class Machine:
    """One that is started again and again from a card, in its initial RAM disk."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.system = self.root / "system"
        self.card = folder / "card"
        self.log = folder / "log"
        by_id = self.root / "dev/disk/by-partuuid"
        by_id.mkdir(parents=True)
        self.slot = by_id / layout.COUNTER.partuuid
        with self.slot.open("wb") as file:
            file.truncate(layout.COUNTER.size_bytes)
        (by_id / layout.DATA.partuuid).touch()
        random = self.root / "proc/sys/kernel/random"
        random.mkdir(parents=True)
        (random / "uuid").write_text("01234567-89ab-cdef-0123-456789abcdef\n")
        self._programs = folder / "bin"
        self._programs.mkdir()
        for name, text in FAKES.items():
            (self._programs / name).write_text(f"#!/bin/sh\n{text}")
            (self._programs / name).chmod(0o755)
        for name in KEPT:
            (self.card / name).mkdir(parents=True)
            (self.card / name / "one").write_text(name)
        (self.card / "machine-id").write_text("of before\n")
        (self.card / "barnacle").mkdir()
        for name in ("people.json", "agent.db", "estop"):
            (self.card / "barnacle" / name).write_text(name)

    def start(self) -> str:
        """Return the words of the initial RAM disk; what was started before is gone."""
        subprocess.run(["rm", "-rf", self.system, self.root / "run"], check=True)
        for name in ("data", "mnt", "etc"):
            (self.system / name).mkdir(parents=True)
        (self.root / "run").mkdir()
        self.log.write_text("")
        script = self.root / "data-partition"
        script.write_text(ramdisk.data_partition())
        return self._run(["/bin/sh", script], DATA_PARTITION_ROOT=self.root, rootmnt=self.system)

    def agent_is_ready(self, ready: str = "true", status: int = 1) -> None:
        script = self.root / "started"
        script.write_text(layout.filled_in((PROGRAMS / "started").read_text()))
        told = {"STARTED_READY": ready, "STARTED_STATUS": f"echo {status}"}
        self._run(["/bin/sh", script], STARTED_ROOT=self.root, **told)

    @property
    def data(self) -> Path:
        return self.system / "data"

    @property
    def aside(self) -> str:
        path = self.root / "run/barnacle-aside"
        return path.read_text().strip() if path.exists() else ""

    @property
    def early_ends(self) -> bytes:
        with self.slot.open("rb") as file:
            file.seek(layout.COUNTER_SECTOR * SECTOR)
            return file.read().split(b"\n")[0]

    def scribble(self, content: bytes) -> None:
        with self.slot.open("r+b") as file:
            file.seek(layout.COUNTER_SECTOR * SECTOR)
            file.write(content)

    def fails(self, *how: str) -> None:
        for one in how:
            Path(f"{self.log}.{one}").touch()

    def _run(self, command: list[str | Path], **environment: Path | str) -> str:
        own = {"FAKES_LOG": str(self.log), "FAKES_CARD": str(self.card)}
        own["PATH"] = f"{self._programs}:{os.environ['PATH']}"
        told = own | {name: str(value) for name, value in environment.items()}
        done = subprocess.run(
            command, env=told, capture_output=True, text=True, check=True, timeout=15
        )
        return done.stdout


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_start_whose_agent_becomes_ready_counts_for_nothing(machine: Machine) -> None:
    for _ in range(6):
        machine.start()
        assert machine.early_ends == b"barnacle-starts 1"
        assert machine.aside == ""
        assert "noatime" in machine.log.read_text()
        machine.agent_is_ready()
        assert machine.early_ends == b"barnacle-starts 0"


def test_the_fourth_start_after_three_that_ended_early_leaves_the_partition_alone(
    machine: Machine,
) -> None:
    for _ in range(3):
        machine.start()
        assert machine.aside == ""
    said = machine.start()
    assert machine.aside == "3 starts ended early"
    assert "the data partition is left alone" in said
    done = machine.log.read_text()
    assert "fsck" not in done
    assert "noatime" not in done
    assert "ro,noload" in done
    machine.agent_is_ready()
    machine.start()
    assert machine.aside == ""


def test_what_is_needed_to_be_reached_is_there_all_the_same(machine: Machine) -> None:
    machine.scribble(b"barnacle-starts 3\n")
    machine.start()
    assert {path.name for path in machine.data.iterdir()} == {*KEPT, "machine-id", "barnacle"}
    assert all((machine.data / name / "one").read_text() == name for name in KEPT)
    assert (machine.data / "machine-id").read_text() == "of before\n"
    kept = {path.name for path in (machine.data / "barnacle").iterdir()}
    assert kept == {"people.json", "estop"}


def test_a_folder_that_has_become_a_file_does_not_stop_the_next_start(machine: Machine) -> None:
    (machine.card / "connections/one").unlink()
    (machine.card / "connections").rmdir()
    (machine.card / "connections").write_text("lost")
    machine.scribble(b"barnacle-starts 9\n")
    machine.start()
    assert not (machine.data / "connections").exists()
    assert (machine.data / "config/one").exists()


def test_a_partition_that_cannot_be_mounted_is_read_where_it_can(machine: Machine) -> None:
    machine.fails("broken")
    machine.start()
    assert machine.aside == "it cannot be mounted"
    assert (machine.data / "sealed/one").exists()
    assert not (machine.root / "run/barnacle-no-data").exists()


def test_a_partition_that_cannot_be_read_is_no_reason_not_to_start(machine: Machine) -> None:
    machine.fails("broken", "unreadable")
    said = machine.start()
    assert "knows nobody" in said
    assert (machine.root / "run/barnacle-no-data").exists()
    assert (machine.data / "machine-id").read_text() == "0123456789abcdef0123456789abcdef\n"


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff" * SECTOR, b"barnacle-starts x\n", b"barnacle-starts 33\n", b"other 3\n", b"\n3"],
)
def test_a_count_that_a_cut_has_torn_is_none(machine: Machine, content: bytes) -> None:
    machine.scribble(content.ljust(SECTOR, b"\0"))
    machine.start()
    assert machine.aside == ""
    assert machine.early_ends == b"barnacle-starts 1"


def test_the_count_ends_at_a_number_that_is_read_again(machine: Machine) -> None:
    machine.scribble(b"barnacle-starts 8\n")
    for _ in range(3):
        machine.start()
        assert machine.aside
    assert machine.early_ends == b"barnacle-starts 9"


def test_nothing_but_one_sector_is_written(machine: Machine) -> None:
    machine.start()
    machine.agent_is_ready()
    with machine.slot.open("rb") as file:
        file.seek((layout.COUNTER_SECTOR - 1) * SECTOR)
        assert file.read(SECTOR) == bytes(SECTOR)
        assert len(file.read()) == SECTOR
    assert machine.slot.stat().st_size == layout.COUNTER.size_bytes


def test_an_agent_that_is_not_ready_ends_nothing(machine: Machine) -> None:
    machine.start()
    machine.agent_is_ready("false")
    assert machine.early_ends == b"barnacle-starts 1"


def test_a_configuration_that_is_refused_is_no_start_that_ended_early(machine: Machine) -> None:
    """Whoever corrects it would correct a copy in memory, in every start that follows."""
    for _ in range(5):
        machine.start()
        assert machine.aside == ""
        machine.agent_is_ready("false", exits.USAGE)
        assert machine.early_ends == b"barnacle-starts 0"


def test_a_count_of_none_is_not_written_again(machine: Machine) -> None:
    machine.start()
    machine.agent_is_ready()
    before = machine.slot.stat().st_mtime_ns
    machine.agent_is_ready()
    assert machine.slot.stat().st_mtime_ns == before


@pytest.mark.parametrize(("line", "restarts"), [("ro panic=10", True), ("ro barnacle.stay", False)])
def test_where_a_shell_would_be_left_the_machine_starts_anew(
    tmp_path: Path,
    line: str,
    restarts: bool,  # noqa: FBT001 - one of two
) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cmdline").write_text(f"{line}\n")
    environment = {
        "PATH": os.environ["PATH"],
        "START_ANEW_ROOT": str(tmp_path),
        "START_ANEW_RESTART": "echo restarted",
    }
    done = subprocess.run(
        [PROGRAMS / "start-anew"], env=environment, capture_output=True, text=True, check=True
    )
    assert ("restarted" in done.stdout) is restarts


def test_after_a_while_a_start_as_ever_is_tried() -> None:
    environment = {"PATH": os.environ["PATH"], "COME_BACK_AFTER": "0"}
    environment["COME_BACK_RESTART"] = "echo restarted"
    done = subprocess.run(
        [PROGRAMS / "come-back"], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "restarted"
