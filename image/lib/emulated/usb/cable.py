"""The cable between a simulated device and QEMU's `usb-redir`: plugged in and out by a socket."""

import contextlib
import os
import selectors
import socket
import struct
import threading
from pathlib import Path

from image.lib.emulated.usb import redirection
from image.lib.emulated.usb.device import IN, Device, Stalled, Unplugged
from image.lib.emulated.usb.redirection import Kind, Packet, Status, packed

_REQUEST = struct.Struct("<BBBBHHH")
# Endpoint, how it ended, length, stream, and what of the length is beyond 16 bits
_BULK = struct.Struct("<BBHIH")
_READ_BYTES = 65536
# A thread that only passes bytes on ends at once
_END_S = 5.0


class Cable:
    """One device at one port of the guest; bytes pass in a thread of its own.

    Args:
        port: the socket that QEMU listens on.
    """

    def __init__(self, device: Device, port: Path) -> None:
        self._device = device
        self._port = port
        self._thread: threading.Thread | None = None

    @property
    def is_plugged(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def plug(self) -> None:
        if self.is_plugged:
            return
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(self._port))
        self._wake, self._woken = os.pipe()
        self._waiting: list[tuple[int, int, int]] = []
        self._ready = b""
        self._socket.sendall(redirection.hello() + redirection.connected(self._device.face))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def unplug(self) -> None:
        if self._thread is None:
            return
        with contextlib.suppress(OSError):
            os.write(self._woken, b"x")
        self._thread.join(_END_S)
        self._thread = None
        for handle in (self._wake, self._woken):
            os.close(handle)

    def _run(self) -> None:
        with contextlib.suppress(OSError), selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            selector.register(self._wake, selectors.EVENT_READ)
            if self._device.fileno() >= 0:
                selector.register(self._device.fileno(), selectors.EVENT_READ)
            self._pass_on(selector)
        self._socket.close()

    def _pass_on(self, selector: selectors.BaseSelector) -> None:
        splitter = redirection.Splitter()
        while True:
            ready = {key.fileobj for key, _ in selector.select()}
            if self._wake in ready:
                self._socket.sendall(packed(Kind.DISCONNECT))
                return
            if self._device.fileno() in ready:
                # Read also when nobody asks for it: the terminal's buffer is not the port's
                self._ready = (self._ready + self._device.give(_READ_BYTES))[-_READ_BYTES:]
            if self._socket in ready:
                piece = self._socket.recv(_READ_BYTES)
                if not piece:
                    return
                for packet in splitter.split(piece):
                    self._handle(packet)
            self._serve_waiting()

    def _handle(self, packet: Packet) -> None:
        match packet.kind:
            case Kind.REQUEST:
                self._request(packet)
            case Kind.BULK:
                self._bulk(packet)
            case Kind.CANCEL:
                self._cancel(packet.number)
            case Kind.RESET:
                self._ready = b""
            case _:
                self._answer(packet)

    def _answer(self, packet: Packet) -> None:
        """Answer a request that only needs a confirmation."""
        number, body = packet.number, packet.body
        if packet.kind in {Kind.SET_CONFIGURATION, Kind.GET_CONFIGURATION}:
            self._send(redirection.layout_of(self._device.face))
            self._send(packed(Kind.CONFIGURATION, number, b"\0" + (body or b"\1")))
        elif packet.kind in {Kind.SET_ALTERNATIVE, Kind.GET_ALTERNATIVE}:
            interface = body[:1]
            alternative = body[1:2] or b"\0"
            self._send(packed(Kind.ALTERNATIVE, number, b"\0" + interface + alternative))
        elif packet.kind in {Kind.START_INTERRUPTS, Kind.STOP_INTERRUPTS}:
            self._send(packed(Kind.INTERRUPTS, number, b"\0" + body[:1]))

    def _request(self, packet: Packet) -> None:
        endpoint, request, kind, _, value, index, length = _REQUEST.unpack_from(packet.body)
        data = packet.body[_REQUEST.size :]
        status = Status.DONE
        try:
            if kind & 0x60:
                reply = self._device.request(kind, request, value, index, data)[:length]
            else:
                reply = self._device.face.answer(request, value, length)
        except Stalled:
            reply, status = b"", Status.STALLED
        except Unplugged as gone:
            self._socket.sendall(packed(Kind.DISCONNECT))
            # As if the cable had been pulled
            raise ConnectionAbortedError from gone
        done = len(reply) if kind & IN else length
        head = _REQUEST.pack(endpoint, request, kind, status, value, index, done)
        self._send(packed(Kind.REQUEST, packet.number, head + reply))

    def _bulk(self, packet: Packet) -> None:
        endpoint, _, low, stream, high = _BULK.unpack_from(packet.body)
        length = low + (high << 16)
        if endpoint & IN:
            self._waiting.append((packet.number, endpoint, length))
            return
        self._device.take(endpoint, packet.body[_BULK.size :])
        head = _BULK.pack(endpoint, Status.DONE, low, stream, high)
        self._send(packed(Kind.BULK, packet.number, head))

    def _serve_waiting(self) -> None:
        while self._waiting and self._ready:
            number, endpoint, length = self._waiting.pop(0)
            data, self._ready = self._ready[:length], self._ready[length:]
            head = _BULK.pack(endpoint, Status.DONE, len(data) & 0xFFFF, 0, len(data) >> 16)
            self._send(packed(Kind.BULK, number, head + data))

    def _cancel(self, number: int) -> None:
        for waiting in [one for one in self._waiting if one[0] == number]:
            self._waiting.remove(waiting)
            head = _BULK.pack(waiting[1], Status.CANCELLED, 0, 0, 0)
            self._send(packed(Kind.BULK, number, head))

    def _send(self, data: bytes) -> None:
        self._socket.sendall(data)
