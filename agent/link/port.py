"""A serial port driven by the event loop: bytes in, bytes out, and one word when it is gone.

Ours alone while it is open. Nothing here waits for the device; what it does not take is bounded.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
import termios
from collections.abc import Callable
from typing import Protocol

from agent.errors import LinkLost
from agent.link.rate import Rates
from agent.passage import configured

# Opening waits for the driver, closing for what it still holds; a wedged one takes for ever
OPEN_TIMEOUT_S = 3.0
CLOSE_TIMEOUT_S = 3.0
# The kernel holds at most 4095 bytes of a terminal's input
_READ_BYTES = 4096
# The send window twice over: more means that the device takes nothing at all
MAX_UNWRITTEN_BYTES = 4096
# Exclusive use outlives us on a pseudo-terminal, whose other end keeps it open: the next agent
# would find it taken. The lock on the file ends with us everywhere.
_PSEUDO_TERMINALS = "/dev/pts/"
# Where `tcgetattr` keeps the control characters
_CONTROL_CHARACTERS = 6
# And the rates of input and output
_SPEEDS = slice(4, 6)

OnBytes = Callable[[bytes], None]
OnLost = Callable[[str], None]


class Port(Protocol):
    """A way to a board. `start` is called once; after `aclose` nothing is called back."""

    @property
    def path(self) -> str: ...

    @property
    def rates(self) -> Rates:
        """Rates that the port was opened with and may be raised to."""

    def set_baud(self, baud: int) -> None:
        """Another rate from now on, for what is sent and for what arrives."""

    def start(self, on_bytes: OnBytes, on_lost: OnLost) -> None:
        """Begin to read; `on_lost` is called at most once, with a sentence."""

    def write(self, data: bytes) -> None:
        """Send when the device takes it; what exceeds the buffer is lost as on a bad line."""

    async def aclose(self) -> None: ...


class SerialHandle(Protocol):
    """An open serial device of pyserial, as far as it is used."""

    def fileno(self) -> int: ...

    def close(self) -> None: ...


class SerialPort:
    """A `Port` on a serial device or a pseudo-terminal."""

    def __init__(self, path: str, device: SerialHandle, rates: Rates | None = None) -> None:
        self.path = path
        self.rates = rates or Rates()
        self._device = device
        self._handle = device.fileno()
        self._loop = asyncio.get_running_loop()
        self._unwritten = bytearray()
        self._on_bytes: OnBytes | None = None
        self._on_lost: OnLost | None = None

    def start(self, on_bytes: OnBytes, on_lost: OnLost) -> None:
        self._on_bytes, self._on_lost = on_bytes, on_lost
        self._loop.add_reader(self._handle, self._read)

    def write(self, data: bytes) -> None:
        if self._on_bytes is None or len(self._unwritten) + len(data) > MAX_UNWRITTEN_BYTES:
            return
        was_empty = not self._unwritten
        self._unwritten += data
        if was_empty:
            self._write_some()

    def set_baud(self, baud: int) -> None:
        # Not by pyserial, which would set VMIN back. A driver that refuses leaves the rate as it
        # is: nothing is understood then, and the link falls back.
        with contextlib.suppress(termios.error):
            attributes = termios.tcgetattr(self._handle)
            attributes[_SPEEDS] = [getattr(termios, f"B{baud}")] * 2
            termios.tcsetattr(self._handle, termios.TCSANOW, attributes)

    async def aclose(self) -> None:
        self._stop()
        # A driver may wait half a minute for output that nobody will take
        with contextlib.suppress(termios.error):
            termios.tcflush(self._handle, termios.TCOFLUSH)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await asyncio.to_thread(self._device.close)

    def _read(self) -> None:
        try:
            data = os.read(self._handle, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError as err:
            self._lose(err)
            return
        if not data:
            self._lose(None)
        elif self._on_bytes is not None:  # pragma: no branch - a stopped port is not read
            self._on_bytes(data)

    def _write_some(self) -> None:
        try:
            written = os.write(self._handle, self._unwritten)
        except BlockingIOError:
            written = 0
        except OSError as err:
            # Not from within `write`: its caller is in the middle of something
            self._loop.call_soon(self._lose, err)
            return
        del self._unwritten[:written]
        if self._unwritten:
            self._loop.add_writer(self._handle, self._write_some)
        else:
            self._loop.remove_writer(self._handle)

    def _lose(self, err: OSError | None) -> None:
        on_lost = self._on_lost
        if on_lost is None:
            return
        self._stop()
        if err is None or err.errno in {errno.EIO, errno.ENXIO, errno.ENODEV}:
            on_lost(f"{self.path} was unplugged")
        else:
            on_lost(f"{self.path} failed: {os.strerror(err.errno or 0)}")

    def _stop(self) -> None:
        if self._on_bytes is None:
            # The handle may already be closed and mean something else
            return
        self._on_bytes = self._on_lost = None
        self._loop.remove_reader(self._handle)
        self._loop.remove_writer(self._handle)


_STUCK = "cannot open {path}: unplug the board and plug it in again"


async def open_port(path: str, baud: int, top_baud: int = 0) -> SerialPort:
    """An open port that no other program has; its rate may be raised to `top_baud`.

    Raises:
        LinkLost: with a sentence that says why not and what to do.
    """
    try:
        async with asyncio.timeout(OPEN_TIMEOUT_S):
            device = await asyncio.to_thread(_open_device, path, baud)
    except TimeoutError as err:
        raise LinkLost(configured(_STUCK.format(path=path))) from err
    except (OSError, ValueError, termios.error) as err:
        raise LinkLost(configured(why_not(path, err))) from err
    return SerialPort(path, device, Rates(baud, top_baud))


def _open_device(path: str, baud: int) -> SerialHandle:
    # 8 ms and 1 MB that an agent without a board does not need
    import serial  # noqa: PLC0415

    device: SerialHandle = serial.Serial(path, baud, timeout=0, write_timeout=0, exclusive=True)
    handle = device.fileno()
    try:
        if not os.ttyname(handle).startswith(_PSEUDO_TERMINALS):
            fcntl.ioctl(handle, termios.TIOCEXCL)
        os.set_blocking(handle, False)
        # With VMIN 0 "nothing yet" reads like "gone"
        attributes = termios.tcgetattr(handle)
        attributes[_CONTROL_CHARACTERS][termios.VMIN] = 1
        termios.tcsetattr(handle, termios.TCSANOW, attributes)
    except BaseException:
        device.close()
        raise
    return device


def why_not(path: str, err: Exception) -> str:
    """Return why a port cannot be opened, and what to do."""
    number = err.errno if isinstance(err, OSError) else None
    match number:
        case None:
            return f"{path} is not a serial port"
        case errno.ENOENT | errno.ENXIO | errno.ENODEV:
            return f"{path} not found: is the board plugged in?"
        case errno.EACCES | errno.EPERM:
            return (
                f"no permission to open {path}: add this user to the group of the port (often "
                "dialout)"
            )
        case errno.EBUSY | errno.EAGAIN:
            return f"another program uses {path}: stop it first"
        case _:
            return f"cannot open {path}: {os.strerror(number)}"
