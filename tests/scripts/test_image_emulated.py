"""The computer that the image is tried in: what can be known of it without starting one."""

import contextlib
import importlib
import random
import socket
import sqlite3
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from image.lib.emulated import device_tree, write_log
from image.lib.emulated.usb import redirection
from image.lib.emulated.usb.cable import Cable
from image.lib.emulated.usb.i2c_adapter import CHIP, I2cAdapter
from image.lib.emulated.usb.redirection import Kind, Packet
from image.lib.trials import ORDER, cut_points
from image.lib.trials.expectation import Missed

ANSWER_S = 5.0
SECTOR = 512
# As QEMU writes it: its sign, the version, how many, and the size of a sector
LOG_HEAD = struct.pack("<QQQI", 0x6A736677736872, 1, 0, SECTOR).ljust(SECTOR, b"\0")
FLUSH, DISCARD = 1, 4


class Port:
    """QEMU's end of a USB cable."""

    def __init__(self, path: Path) -> None:
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()
        self._splitter = redirection.Splitter()
        self._packets: list[Packet] = []

    def accept(self) -> None:
        self._connection, _ = self._listening.accept()
        self._connection.settimeout(ANSWER_S)
        self._connection.sendall(redirection.hello())

    def send(self, kind: Kind, number: int, body: bytes) -> None:
        self._connection.sendall(redirection.packed(kind, number, body))

    def read(self, kind: Kind) -> Packet:
        """The next packet of that kind."""
        while True:
            while self._packets:
                if (packet := self._packets.pop(0)).kind == kind:
                    return packet
            piece = self._connection.recv(65536)
            assert piece, f"the cable was pulled before {kind.name}"
            self._packets += self._splitter.split(piece)

    def ask(self, kind: int, request: int, value: int, index: int, length: int) -> bytes:
        """What the device answers to a request; its status and the data."""
        endpoint = 0x80 if kind & 0x80 else 0
        head = struct.pack("<BBBBHHH", endpoint, request, kind, 0, value, index, length)
        self.send(Kind.REQUEST, 7, head + (b"" if endpoint else bytes(length)))
        packet = self.read(Kind.REQUEST)
        assert packet.number == 7
        return packet.body[3:4] + packet.body[10:]

    def close(self) -> None:
        self._connection.close()
        self._listening.close()


@pytest.fixture
def port(tmp_path: Path) -> Iterator[Port]:
    end = Port(tmp_path / "usb")
    cable = Cable(I2cAdapter(), tmp_path / "usb")
    cable.plug()
    end.accept()
    yield end
    cable.unplug()
    end.close()


def test_every_trial_is_there_and_says_what_it_tries() -> None:
    folder = Path(device_tree.__file__).parents[1] / "trials"
    shared = {"__init__", "expectation", "safety", "updating"}
    assert set(ORDER) == {path.stem for path in folder.glob("*.py")} - shared
    for name in ORDER:
        trial = importlib.import_module(f"image.lib.trials.{name}")
        assert callable(trial.run)
        assert trial.__doc__
        assert trial.__doc__.partition("\n")[0].endswith(".")


def test_a_device_describes_itself_over_the_cable(port: Port) -> None:
    connected = port.read(Kind.CONNECT)
    assert struct.unpack_from("<HH", connected.body, 4) == (0x1C40, 0x0534)
    answer = port.ask(0x80, 6, 0x0100, 0, 18)
    assert answer[:3] == b"\x00\x12\x01"
    assert struct.unpack_from("<HH", answer, 9) == (0x1C40, 0x0534)


def test_what_a_device_does_not_know_is_refused(port: Port) -> None:
    assert port.ask(0x80, 0x33, 0, 0, 8) == b"\x04"


def test_a_chip_on_the_bus_answers_and_nobody_else_does(port: Port) -> None:
    port.ask(0x41, 7, 0, CHIP, 1)
    assert port.ask(0xC1, 7, 1, CHIP, 2) == b"\x00\x19\x80"
    assert port.ask(0xC1, 3, 0, 0, 1) == b"\x00\x01"
    port.ask(0xC1, 7, 1, CHIP + 1, 2)
    assert port.ask(0xC1, 3, 0, 0, 1) == b"\x00\x02"


def test_packets_are_put_together_from_any_pieces() -> None:
    packed = redirection.hello() + redirection.packed(Kind.RESET, 2**40)
    packed += redirection.packed(Kind.BULK, 3, b"body")
    splitter = redirection.Splitter()
    packets = [packet for byte in packed for packet in splitter.split(bytes((byte,)))]
    assert [packet.kind for packet in packets] == [Kind.HELLO, Kind.RESET, Kind.BULK]
    assert [packet.number for packet in packets] == [0, 2**40, 3]
    assert packets[2].body == b"body"


def entry(sector: int, content: bytes, flags: int = 0) -> bytes:
    count = len(content) // SECTOR
    head = struct.pack("<QQQQ", sector, count, flags, len(content)).ljust(SECTOR, b"\0")
    return head + content


def test_the_card_goes_through_the_writes_of_a_log(tmp_path: Path) -> None:
    first, second, third = (bytes((byte,)) * SECTOR for byte in (1, 2, 3))
    log, content = tmp_path / "log", tmp_path / "content"
    writes = entry(10, first) + entry(0, b"", FLUSH) + entry(11, second) + entry(10, third)
    log.write_bytes(LOG_HEAD + writes)
    content.write_bytes(bytes(2 * SECTOR))
    replay = write_log.Replay(content, 10 * SECTOR, log, write_log.read(log))
    replay.advance(2)
    assert content.read_bytes() == first + bytes(SECTOR)
    replay.advance(4)
    assert content.read_bytes() == third + second


def test_only_what_no_flush_has_settled_may_be_missing(tmp_path: Path) -> None:
    log, content = tmp_path / "log", tmp_path / "content"
    one = b"1" * SECTOR
    log.write_bytes(LOG_HEAD + entry(0, one) + entry(0, b"", FLUSH) + entry(1, one))
    content.write_bytes(bytes(2 * SECTOR))
    replay = write_log.Replay(content, 0, log, write_log.read(log))
    seen = set()
    for seed in range(20):
        with (tmp_path / "cut").open("w+b") as cut:
            cut.write(content.read_bytes())
            replay.cut(10, random.Random(seed), cut)
            cut.seek(0)
            seen.add(cut.read())
    assert seen == {bytes(2 * SECTOR), one + bytes(SECTOR)}


def test_a_log_of_a_machine_that_was_killed_ends_where_it_is_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    whole = LOG_HEAD + entry(0, b"1" * SECTOR)
    log.write_bytes(whole + entry(1, b"2" * SECTOR)[:-1])
    assert len(write_log.read(log)) == 1


@pytest.mark.parametrize("by_name", [False, True])
def test_the_machine_tells_programs_that_it_is_a_raspberry_pi(
    tmp_path: Path,
    by_name: bool,  # noqa: FBT001 - one of two machines
) -> None:
    if device_tree.QEMU is None:
        pytest.skip("no qemu-system-aarch64 here (package qemu-system-arm)")
    made = device_tree.of_a_pi([device_tree.QEMU, "-M", "virt"], tmp_path, by_name=by_name)
    tree = made.read_bytes()
    assert struct.unpack_from(">I", tree, 4) == (len(tree),)
    assert b"system\0\0" in tree
    assert struct.pack(">I", 0xA02082) in tree
    assert (b"raspberrypi,3-model-b\0" in tree) is by_name
    try:
        command = ["fdtget", "-t", "x", made, "/system", "linux,revision"]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        return
    assert told.strip() == "a02082"


def data_partition(folder: Path, *messages: str) -> Path:
    """As the image has it, with the agent's inbox in it."""
    state = folder / "tree/barnacle"
    state.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(state / "agent.db")) as database:
        database.execute("CREATE TABLE IF NOT EXISTS inbox (text TEXT)")
        database.executemany("INSERT INTO inbox VALUES (?)", [(one,) for one in messages])
        database.commit()
    made = folder / "data.ext4"
    command = ["/usr/sbin/mke2fs", "-q", "-t", "ext4", "-d", folder / "tree", made, "8M"]
    subprocess.run(command, check=True)
    return made


@pytest.mark.skipif(
    not Path("/usr/sbin/mke2fs").exists(), reason="no mke2fs here (package e2fsprogs)"
)
def test_a_message_that_is_not_on_the_card_is_missed(tmp_path: Path) -> None:
    made = data_partition(tmp_path, "one", "two")
    assert cut_points.repair(made, 1) == 0
    cut_points.check(made, tmp_path / "files", {"one", "two"}, 1)
    with pytest.raises(Missed, match="three"):
        cut_points.check(made, tmp_path / "files", {"one", "three"}, 1)


@pytest.mark.skipif(
    not Path("/usr/sbin/mke2fs").exists(), reason="no mke2fs here (package e2fsprogs)"
)
def test_what_a_start_needs_is_missed_where_it_is_empty(tmp_path: Path) -> None:
    for name in ("config/barnacle.toml", "sealed/key", "systemd/credential.secret", "machine-id"):
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    made = data_partition(tmp_path)
    needed = cut_points.needed_in(made, tmp_path / "files")
    assert set(needed.values()) == {name.encode() for name in needed}
    assert len(needed) == 4
    cut_points.check_needed(made, tmp_path / "files", needed, 1)
    (tmp_path / "tree/sealed/key").write_text("")
    made.unlink()
    again = data_partition(tmp_path)
    with pytest.raises(Missed, match="sealed/key not as before"):
        cut_points.check_needed(again, tmp_path / "files", needed, 1)


@pytest.mark.skipif(
    not Path("/usr/sbin/mke2fs").exists(), reason="no mke2fs here (package e2fsprogs)"
)
def test_a_file_system_that_cannot_be_repaired_is_missed(tmp_path: Path) -> None:
    broken = tmp_path / "data.ext4"
    broken.write_bytes(bytes(8 * 1024 * 1024))
    with pytest.raises(Missed, match="e2fsck"):
        cut_points.repair(broken, 1)
