"""Frames of Lark's long connection: one protobuf message, coded by hand.

Nothing that comes from outside makes this raise anything but `LarkFrameError`.
"""

from collections import OrderedDict
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

# Kinds of frames
CONTROL, DATA = 0, 1
# An event has a handful of headers and comes in one part, or few
MAX_HEADERS = 64
MAX_PARTS = 64
# Messages whose other parts have not come
MAX_UNJOINED = 16
# Parts of a message come together, or not at all
JOIN_WITHIN_S = 5.0
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10
_U64 = (1 << 64) - 1
_SEQUENCE, _LOG, _SERVICE, _METHOD, _HEADERS = 1, 2, 3, 4, 5
_ENCODING, _TYPE, _PAYLOAD, _NEW_LOG = 6, 7, 8, 9


class LarkFrameError(ValueError):
    """Bytes that are no frame."""


class LarkFrame(Struct, frozen=True):
    """Frame; fields that are None are absent."""

    service: int = 0
    method: int = CONTROL
    headers: tuple[tuple[str, str], ...] = ()
    payload: bytes | None = None
    sequence: int = 0
    log: int = 0
    encoding: str | None = None
    payload_type: str | None = None
    new_log: str | None = None

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")

    def number(self, name: str) -> int:
        """Return a header as a number; 0 if it is none."""
        told = self.header(name)
        return int(told) if told.isascii() and told.isdigit() and len(told) < 6 else 0  # noqa: PLR2004 - no huge ints


def ping(service: int) -> LarkFrame:
    return LarkFrame(service, CONTROL, (("type", "ping"),))


def acknowledged(frame: LarkFrame, took_ms: int) -> LarkFrame:
    """Return the frame that tells the platform not to repeat this one."""
    headers = (*frame.headers, ("biz_rt", str(took_ms)))
    return replace(frame, headers=headers, payload=b'{"code":200}')


def encode(frame: LarkFrame) -> bytes:
    numbers = (frame.sequence, frame.log, frame.service, frame.method)
    out = bytearray()
    for field, number in zip((_SEQUENCE, _LOG, _SERVICE, _METHOD), numbers, strict=True):
        out += _varint(field << 3 | _VARINT) + _varint(number & _U64)
    for key, value in frame.headers:
        out += _bytes(_HEADERS, _bytes(1, key.encode()) + _bytes(2, value.encode()))
    for field, text in ((_ENCODING, frame.encoding), (_TYPE, frame.payload_type)):
        out += b"" if text is None else _bytes(field, text.encode())
    out += b"" if frame.payload is None else _bytes(_PAYLOAD, frame.payload)
    out += b"" if frame.new_log is None else _bytes(_NEW_LOG, frame.new_log.encode())
    return bytes(out)


def decode(data: bytes) -> LarkFrame:
    """Decode a frame.

    Raises:
        BadFrame: it is none.
    """
    numbers: dict[int, int] = {}
    texts: dict[int, bytes] = {}
    headers: list[tuple[str, str]] = []
    for field, value in _fields(data):
        if isinstance(value, int):
            numbers[field] = value
        elif field != _HEADERS:
            texts[field] = value
        elif len(headers) < MAX_HEADERS:
            headers.append(_header(value))
    return LarkFrame(
        _signed(numbers.get(_SERVICE, 0)),
        _signed(numbers.get(_METHOD, 0)),
        tuple(headers),
        texts.get(_PAYLOAD),
        numbers.get(_SEQUENCE, 0),
        numbers.get(_LOG, 0),
        _text(texts.get(_ENCODING)),
        _text(texts.get(_TYPE)),
        _text(texts.get(_NEW_LOG)),
    )


class LarkFrameParts:
    """Assembler of messages that come in parts."""

    def __init__(self) -> None:
        self._parts: OrderedDict[str, tuple[float, dict[int, bytes]]] = OrderedDict()

    def add(self, frame: LarkFrame, now_s: float) -> bytes | None:
        """Add a part; return the whole payload, or None while parts are missing."""
        count, place = frame.number("sum"), frame.number("seq")
        payload = frame.payload or b""
        if count <= 1:
            return payload
        known = frame.header("message_id")
        begun_s, parts = self._parts.pop(known, (now_s, {}))
        if count > MAX_PARTS or place >= count:
            return None
        if now_s - begun_s > JOIN_WITHIN_S:
            begun_s, parts = now_s, {}
        parts[place] = payload
        if len(parts) == count:
            return b"".join(parts[at] for at in range(count))
        self._parts[known] = (begun_s, parts)
        if len(self._parts) > MAX_UNJOINED:
            self._parts.popitem(last=False)
        return None


def _header(data: bytes) -> tuple[str, str]:
    told = {field: value for field, value in _fields(data) if isinstance(value, bytes)}
    return _text(told.get(1)) or "", _text(told.get(2)) or ""


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        field, kind = key >> 3, key & 7
        if kind == _VARINT:
            number, at = _read_varint(data, at)
            yield field, number
            continue
        size = {_FIXED64: 8, _FIXED32: 4}.get(kind)
        if size is None:
            if kind != _BYTES:
                raise LarkFrameError("a field of no known kind")
            size, at = _read_varint(data, at)
        if at + size > len(data):
            raise LarkFrameError("it ends in a field")
        if kind == _BYTES:
            yield field, data[at : at + size]
        at += size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for count, byte in enumerate(data[at : at + _MAX_VARINT_BYTES]):
        number |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:  # noqa: PLR2004 - the sign that more comes
            return number & _U64, at + count + 1
    raise LarkFrameError("a number without an end")


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:  # noqa: PLR2004 - seven bits in each byte
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(value)) + value


def _signed(number: int) -> int:
    low = number & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")
