"""A name server on a loopback address of its own; a test gives it TXT and A records."""

import random
import socket
import struct
import threading
from collections.abc import Mapping, Sequence

_TXT, _A = 16, 1
_NO_SUCH_NAME = 3
_PORT = 53
_HEADER = struct.Struct(">HHHHHH")


class ZoneServer:
    """Answers by UDP until it is closed; needs root, because resolvers know port 53 alone.

    Args:
        texts: TXT records by name, without the dot at the end.
        hosts: IPv4 addresses by name.
    """

    def __init__(self, texts: Mapping[str, Sequence[str]], hosts: Mapping[str, str]) -> None:
        self._texts, self._hosts = texts, hosts
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # All of 127/8 is this machine: no test meets another's
        self.address = ".".join(["127", *(str(random.randint(2, 250)) for _ in range(3))])
        self._socket.bind((self.address, _PORT))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        # An empty datagram ends the loop
        self._socket.sendto(b"", (self.address, _PORT))
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            query, peer = self._socket.recvfrom(4096)
            if not query:
                return
            if len(query) > _HEADER.size:
                self._socket.sendto(self._reply(query), peer)

    def _reply(self, query: bytes) -> bytes:
        number, flags, *_ = _HEADER.unpack_from(query)
        labels, at = [], _HEADER.size
        while length := query[at]:
            labels.append(query[at + 1 : at + 1 + length].decode("ascii", "replace"))
            at += 1 + length
        question = query[_HEADER.size : at + 5]
        kind = struct.unpack_from(">H", query, at + 1)[0]
        answers = [_record(kind, data) for data in self._data(".".join(labels).lower(), kind)]
        is_known = self._is_known(".".join(labels).lower())
        # A reply, with authority, to what was asked
        told = 0x8400 | (flags & 0x0100) | (0 if is_known else _NO_SUCH_NAME)
        return _HEADER.pack(number, told, 1, len(answers), 0, 0) + question + b"".join(answers)

    def _data(self, name: str, kind: int) -> list[bytes]:
        if kind == _TXT:
            return [_text(one) for one in self._texts.get(name, ())]
        if kind == _A and name in self._hosts:
            return [socket.inet_aton(self._hosts[name])]
        return []

    def _is_known(self, name: str) -> bool:
        names = (*self._texts, *self._hosts)
        return any(known == name or known.endswith(f".{name}") for known in names)


def _text(value: str) -> bytes:
    raw = value.encode()
    pieces = [raw[start : start + 255] for start in range(0, len(raw), 255)]
    return b"".join(bytes([len(piece)]) + piece for piece in pieces)


def _record(kind: int, data: bytes) -> bytes:
    # 0xc00c points at the name in the question; class IN, for a minute
    return struct.pack(">HHHIH", 0xC00C, kind, 1, 60, len(data)) + data
