"""USB bus with one device of ours, for real programs that use libusb: umockdev stands in for Linux.

umockdev's library, loaded before the program's own, leads /sys and /dev into a folder and passes
what is asked of a device to a socket. Here is the other end: it answers as Linux's usbfs does.
"""

import contextlib
import enum
import errno
import os
import shutil
import socket
import struct
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from image.lib.emulated.usb.device import Device, Stalled, Unplugged

PORT = "1-1"
_NODE = "bus/usb/001/002"
_LIBRARIES = ("/usr/lib", "/lib")
_MESSAGE = struct.Struct("@3L")
# Packets of umockdev: an ioctl is asked, its answer, memory of the program read and written
_IOCTL, _DONE, _READ, _WRITE = 1, 3, 5, 6
_URB = struct.Struct("@BBiIPiiiiiIP")
_SETUP = struct.Struct("<BBHHH")
_CONTROL_TRANSFER = struct.Struct("@BBHHHIP")
_END_S = 5.0


class _Call(enum.IntEnum):
    """Number of an ioctl of usbfs, without direction and size."""

    CONTROL = 0
    SET_INTERFACE = 4
    SUBMIT = 10
    DISCARD = 11
    REAP = 12
    REAP_NOW = 13
    CLAIM = 15
    RELEASE = 16
    ABILITIES = 26


def missing() -> str:
    """Return why it cannot run here; empty if it can."""
    if shutil.which("dfu-util") is None:
        return "dfu-util is not installed"
    return "" if _library() else "umockdev is not installed"


def _library() -> Path | None:
    for folder in _LIBRARIES:
        for path in Path(folder).glob("*/libumockdev-preload.so.0"):
            return path
    return None


class UsbBus:
    """The bus while it is open.

    Args:
        devices: the folder that `boot_loaders` looks into.
        environment: what a program needs to see the bus.
    """

    def __init__(self, device: Device, folder: Path) -> None:
        self._device = device
        self._folder = folder
        self.devices = folder / "sys/bus/usb/devices"
        self.environment = {
            **os.environ,
            "UMOCKDEV_DIR": str(folder),
            "LD_PRELOAD": str(_library()),
        }
        self._reaped: list[int] = []

    def plug(self) -> socket.socket:
        """Make the kernel's files of the device; return where programs reach it."""
        face = self._device.face
        root = self._folder / "sys/devices/usb1"
        device = root / PORT
        interface = device / f"{PORT}:1.0"
        interface.mkdir(parents=True)
        self.devices.mkdir(parents=True)
        for name, place in (("usb1", root), (PORT, device)):
            (self.devices / name).symlink_to(os.path.relpath(place, self.devices))
            (place / "subsystem").symlink_to(os.path.relpath(self.devices.parent, place))
        files = {
            "busnum": "1",
            "devnum": "2",
            "speed": "12",
            "bConfigurationValue": "1",
            "idVendor": f"{face.vendor:04x}",
            "idProduct": f"{face.product:04x}",
            "serial": face.names[2],
            "uevent": f"DEVTYPE=usb_device\nDEVNAME={_NODE}\nMAJOR=189\nMINOR=1\n"
            "BUSNUM=001\nDEVNUM=002",
        }
        for name, text in files.items():
            (device / name).write_text(f"{text}\n")
        (device / "descriptors").write_bytes(face.descriptors)
        (interface / "interface").write_text(f"{face.names[-1]}\n")
        node = self._folder / "dev" / _NODE
        node.parent.mkdir(parents=True)
        node.touch()
        # A sign to umockdev that it stands for a device
        node.chmod(0o1660)
        numbers = self._folder / "dev/.node"
        numbers.mkdir()
        (numbers / _NODE.replace("/", "_")).symlink_to("189:1")
        address = self._folder / "ioctl/dev" / _NODE
        address.parent.mkdir(parents=True)
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(address))
        listening.listen()
        return listening

    def serve(self, listening: socket.socket) -> None:
        """Answer every program until the socket is closed."""
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                self._reaped.clear()
                with connection, contextlib.suppress(OSError, EOFError):
                    while True:
                        self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        command, request, argument = _MESSAGE.unpack(_received(connection, _MESSAGE.size))
        result, fault = -1, errno.ENOTTY
        if command == _IOCTL:
            try:
                result, fault = self._ioctl(connection, request & 0xFF, argument), 0
            except Unplugged:
                fault = errno.ENODEV
            except BlockingIOError:
                fault = errno.EAGAIN
            except Stalled:
                fault = errno.EPIPE
        connection.sendall(_MESSAGE.pack(_DONE, result & 0xFFFFFFFFFFFFFFFF, fault))

    def _ioctl(self, connection: socket.socket, number: int, argument: int) -> int:
        match number:
            case _Call.CONTROL:
                return self._control(connection, argument)
            case _Call.SUBMIT:
                self._submit(connection, argument)
            case _Call.REAP | _Call.REAP_NOW:
                if not self._reaped:
                    raise BlockingIOError
                _write(connection, argument, struct.pack("@P", self._reaped.pop(0)))
            case _Call.ABILITIES:
                _write(connection, argument, struct.pack("@I", 0))
            case _Call.SET_INTERFACE | _Call.DISCARD | _Call.CLAIM | _Call.RELEASE:
                pass
            case _:
                raise Stalled
        return 0

    def _control(self, connection: socket.socket, argument: int) -> int:
        told = _read(connection, argument, _CONTROL_TRANSFER.size)
        kind, request, value, index, length, _, at = _CONTROL_TRANSFER.unpack(told)
        data = b"" if kind & 0x80 else _read(connection, at, length)
        reply = self._asked(kind, request, value, index, length, data)
        if kind & 0x80:
            _write(connection, at, reply)
            return len(reply)
        return length

    def _submit(self, connection: socket.socket, argument: int) -> None:
        fields = list(_URB.unpack(_read(connection, argument, _URB.size)))
        at = fields[4]
        kind, request, value, index, length = _SETUP.unpack(_read(connection, at, _SETUP.size))
        data = b"" if kind & 0x80 or not length else _read(connection, at + _SETUP.size, length)
        try:
            reply = self._asked(kind, request, value, index, length, data)
        except Stalled:
            fields[2], fields[6] = -errno.EPIPE, 0
        else:
            if reply:
                _write(connection, at + _SETUP.size, reply)
            fields[2], fields[6] = 0, len(reply) if kind & 0x80 else length
        _write(connection, argument, _URB.pack(*fields))
        self._reaped.append(argument)

    def _asked(
        self, kind: int, request: int, value: int, index: int, length: int, data: bytes
    ) -> bytes:
        if kind & 0x60:
            return self._device.request(kind, request, value, index, data)[:length]
        return self._device.face.answer(request, value, length)


def _received(connection: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size:
        piece = connection.recv(size - len(got))
        if not piece:
            raise EOFError
        got += piece
    return got


def _read(connection: socket.socket, at: int, size: int) -> bytes:
    connection.sendall(_MESSAGE.pack(_READ, at, size))
    return _received(connection, size)


def _write(connection: socket.socket, at: int, data: bytes) -> None:
    connection.sendall(_MESSAGE.pack(_WRITE, at, len(data)) + data)


@contextlib.contextmanager
def usb_bus(device: Device) -> Iterator[UsbBus]:
    """A bus with that device, while it is plugged in."""
    # The path of a socket is short
    with tempfile.TemporaryDirectory(prefix="usb-") as name:
        bus = UsbBus(device, Path(name))
        listening = bus.plug()
        serving = threading.Thread(target=bus.serve, args=(listening,))
        serving.start()
        try:
            yield bus
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            listening.close()
            serving.join(_END_S)
