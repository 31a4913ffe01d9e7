import binascii
import random
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.link import frame as codec
from agent.link.frame import Decoder, Encoder, Frame, encode

NONCE = 0xC0FFEE01
NOISE_BYTES = 100_000

# What is on the wire, byte for byte: changing one of these is a new protocol version.
GOLDEN = [
    (
        Frame(codec.HELLO, credit=16, payload=struct.pack(codec.HELLO_FORMAT, 1, 1, NONCE)),
        "000201010c10010101eeffc09ec02a8e00",
    ),
    (
        Frame(
            codec.HELLO_ACK,
            credit=15,
            payload=struct.pack(
                codec.HELLO_ACK_FORMAT,
                *(NONCE, 1, 0, 1, 0, 7, 1, 42, 256, 0),
                *(b"manifest", bytes(8), bytes(range(12)), 9),
            )
            + b"simulated",
        ),
        "00020201070f01eeffc00102010207010103012a0101010201096d616e6966657374"
        + "01" * 7
        + "011a0102030405060708090a0b0973696d756c61746564ce21fb1100",
    ),
    (Frame(codec.ACK, ack=7, credit=16), "0002030707105c53877200"),
    (Frame(codec.NAK, ack=7, credit=16), "000204070710e56b50ef00"),
    (Frame(codec.PING, payload=struct.pack("<I", 123456)), "00020501010440e201057c224f9700"),
    (
        Frame(codec.PONG, payload=struct.pack("<II", 123456, 99)),
        "00020601010440e2010263010105868de37c00",
    ),
    (Frame(codec.BUSY, payload=struct.pack("<H", 850)), "0002070101075203ddc551ae00"),
    (Frame(codec.ESTOP), "000208010105fe5270f700"),
    (Frame(codec.BAUD, payload=struct.pack("<I", 921600)), "00020901010103100e057fd42c6a00"),
    (Frame(codec.BAUD_ACK, payload=struct.pack("<I", 921600)), "00020a01010103100e059cd3a3e400"),
    (
        Frame(codec.REQUEST, 3, 2, 16, struct.pack("<BHH", 16, 513, 1000) + b"\x00\x01"),
        "000a10030210100102e8030601e4858f1700",
    ),
    (
        Frame(codec.ANSWER, 2, 4, 16, struct.pack("<HB", 513, codec.OK) + b"\x01"),
        "000711020410010206013f3706e700",
    ),
    (
        Frame(codec.ANSWER, 3, 5, 16, struct.pack("<HB", 514, codec.BAD_PIN) + b"no such pin"),
        "0017110305100202016e6f20737563682070696e58722ace00",
    ),
    (Frame(codec.EVENT, 255, 255, 255, bytes(240)), "000512ffffff" + "01" * 239 + "05c9b64cb400"),
]
KIND_NAMES = {
    *("HELLO", "HELLO_ACK", "ACK", "NAK", "PING", "PONG"),
    *("BUSY", "ESTOP", "BAUD", "BAUD_ACK", "REQUEST", "ANSWER", "EVENT"),
}
KINDS = [frame.kind for frame, _wire in GOLDEN]
IDS = [str(frame.kind) + "-" + str(len(frame.payload)) for frame, _wire in GOLDEN]

frames = st.builds(
    Frame,
    kind=st.integers(0, 31),
    sequence=st.integers(0, 255),
    ack=st.integers(0, 255),
    credit=st.integers(0, 255),
    payload=st.one_of(
        st.binary(max_size=codec.PAYLOAD_LIMIT_BYTES),
        st.integers(0, codec.PAYLOAD_LIMIT_BYTES).map(bytes),
    ),
)
nonces = st.integers(1, 0xFFFFFFFF)


def understood(wire: bytes, nonce: int = NONCE) -> list[Frame]:
    return Decoder(nonce).feed(wire)


@pytest.mark.parametrize(("frame", "wire"), GOLDEN, ids=IDS)
def test_the_bytes_on_the_wire_are_the_pinned_ones(frame: Frame, wire: str) -> None:
    assert encode(frame, NONCE).hex() == wire
    assert understood(bytes.fromhex(wire)) == [frame]


def test_the_example_of_the_readme_is_golden() -> None:
    page = (Path(__file__).parents[2] / "firmware" / "README.md").read_text(encoding="utf-8")
    shown = {"".join(line.split()[2:]) for line in page.splitlines() if line.startswith("on wire")}
    assert shown <= {wire for _frame, wire in GOLDEN}
    assert len(shown) == 1


def test_a_golden_vector_exists_for_every_kind() -> None:
    named = {value for name, value in vars(codec).items() if name in KIND_NAMES}
    assert named == set(KINDS)


@given(frame=frames, nonce=nonces)
def test_what_is_encoded_is_understood(frame: Frame, nonce: int) -> None:
    wire = encode(frame, nonce)
    assert understood(wire, nonce) == [frame]
    assert wire.count(0) == 2
    assert wire[0] == wire[-1] == 0
    assert len(wire) <= codec.WIRE_LIMIT_BYTES <= 256


@given(st.lists(frames, max_size=6), st.lists(st.integers(1, 60)))
def test_chunking_changes_nothing(sent: list[Frame], cuts: list[int]) -> None:
    wire = b"".join(encode(frame, NONCE) for frame in sent)
    decoder = Decoder(NONCE)
    got = []
    for cut in cuts:
        got += decoder.feed(wire[:cut])
        wire = wire[cut:]
    for byte in wire:
        got += decoder.feed(bytes([byte]))
    assert got == sent
    assert decoder.frames == len(sent)
    assert decoder.dropped == 0


def test_neighbours_may_share_a_delimiter() -> None:
    wire = encode(Frame(codec.ACK), NONCE)
    assert len(understood(wire + wire[1:] + wire[1:])) == 3


@pytest.mark.parametrize("nonce", [0, NONCE])
def test_an_emergency_stop_needs_no_session(nonce: int) -> None:
    stop = Frame(codec.ESTOP)
    assert understood(encode(stop), nonce) == [stop]
    assert understood(encode(stop, NONCE + 1), nonce) == []
    assert understood(encode(Frame(codec.PING), 0), nonce) == []


@pytest.mark.parametrize("nonce", [0, NONCE])
def test_no_flipped_bit_of_a_stop_without_a_session_is_accepted(nonce: int) -> None:
    wire = encode(Frame(codec.ESTOP))
    for bit in range(8, len(wire) * 8 - 8):
        damaged = bytearray(wire)
        damaged[bit // 8] ^= 1 << (bit % 8)
        assert understood(bytes(damaged), nonce) == []


@pytest.mark.parametrize(("frame", "wire"), GOLDEN, ids=IDS)
def test_every_single_bit_flip_is_refused(frame: Frame, wire: str) -> None:
    for bit in range(len(wire) * 4):
        damaged = bytearray.fromhex(wire)
        damaged[bit // 8] ^= 1 << (bit % 8)
        decoder = Decoder(NONCE)
        assert decoder.feed(bytes(damaged) + b"\0") == []
        assert decoder.dropped >= 1
        assert decoder.feed(bytes.fromhex(wire)) == [frame]


@pytest.mark.parametrize(("frame", "wire"), GOLDEN, ids=IDS)
def test_a_frame_cut_anywhere_does_not_harm_the_next(frame: Frame, wire: str) -> None:
    whole = bytes.fromhex(wire)
    for kept in range(len(whole)):
        # The last byte is a delimiter, so everything but that is a whole frame before another one
        expected = [frame, frame] if kept == len(whole) - 1 else [frame]
        assert understood(whole[:kept] + whole) == expected


@pytest.mark.parametrize("wire", [wire for _frame, wire in GOLDEN], ids=IDS)
def test_a_lost_or_a_doubled_byte_is_refused(wire: str) -> None:
    whole = bytes.fromhex(wire)
    for at in range(1, len(whole) - 1):
        assert understood(whole[:at] + whole[at + 1 :]) == []
        assert understood(whole[:at] + whole[at : at + 1] + whole[at:]) == []


def test_a_frame_after_a_lot_of_noise_is_understood() -> None:
    decoder = Decoder(NONCE)
    noise = random.Random(1).randbytes(NOISE_BYTES)
    assert decoder.feed(noise) == []
    assert decoder.feed(encode(Frame(codec.ESTOP), NONCE)) == [Frame(codec.ESTOP)]
    assert decoder.dropped > 100


def test_a_flood_without_a_delimiter_is_counted_once_and_kept_nowhere() -> None:
    decoder = Decoder(NONCE)
    size = len(decoder._raw)
    assert decoder.feed(b"\xff" * NOISE_BYTES + b"\0") == []
    assert (decoder.overlong, decoder.malformed, decoder.crc_errors) == (1, 0, 0)
    assert len(decoder._raw) == size <= 512
    assert decoder.feed(encode(Frame(codec.ACK), NONCE)) == [Frame(codec.ACK)]


@pytest.mark.parametrize("extra", range(1, 14))
def test_a_frame_longer_than_allowed_is_refused(extra: int) -> None:
    raw = bytes([codec.ACK, 0, 0, 0]) + b"\x01" * (codec.PAYLOAD_LIMIT_BYTES + extra)
    wire = stuffed(with_crc(raw))
    decoder = Decoder(NONCE)
    assert decoder.feed(wire) == []
    assert decoder.overlong == 1


@pytest.mark.parametrize("length", range(8))
def test_a_frame_shorter_than_its_header_is_refused(length: int) -> None:
    decoder = Decoder(NONCE)
    assert decoder.feed(stuffed(b"\x03" * length)) == []
    assert decoder.malformed == 1


@pytest.mark.parametrize("kind", [codec.ACK | 0x20, codec.ACK | 0x40, codec.ACK | 0x80])
def test_reserved_bits_are_refused_even_with_a_good_crc(kind: int) -> None:
    decoder = Decoder(NONCE)
    assert decoder.feed(encode(Frame(kind), NONCE)) == []
    assert decoder.malformed == 1


def test_a_frame_of_another_session_is_refused() -> None:
    for kind in KINDS:
        wire = encode(Frame(kind, 1, 2, 3, b"payload"), NONCE)
        greeting = kind in (codec.HELLO, codec.HELLO_ACK)
        assert len(understood(wire, NONCE + 1)) == greeting


def test_before_a_session_only_greetings_and_stops_pass() -> None:
    for kind in KINDS:
        wire = encode(Frame(kind), 0)
        assert len(understood(wire, 0)) == (kind in (codec.HELLO, codec.HELLO_ACK, codec.ESTOP))


def test_a_repl_banner_is_not_a_frame() -> None:
    banner = b"\r\nMicroPython v1.25.0 on 2025-05-04; NUCLEO-F411RE with STM32F411xE\r\n>>> "
    decoder = Decoder(NONCE)
    assert decoder.feed(banner + b"\0" + banner + b"\0") == []
    assert decoder.dropped == 2


def test_reset_forgets_half_a_frame() -> None:
    wire = encode(Frame(codec.PING, payload=b"\x01\x02\x03\x04"), NONCE)
    decoder = Decoder(NONCE)
    decoder.feed(wire[:6])
    decoder.reset()
    assert decoder.feed(wire[1:]) == [Frame(codec.PING, payload=b"\x01\x02\x03\x04")]
    assert decoder.dropped == 0


def test_take_stops_behind_each_frame_and_shows_it_without_a_copy() -> None:
    first, second = Frame(codec.REQUEST, 1, 2, 3, b"one"), Frame(codec.REQUEST, 2, 2, 3, b"two")
    wire = encode(first, NONCE) + encode(second, NONCE)
    decoder = Decoder(NONCE)
    at = decoder.take(wire, 0, len(wire))
    assert decoder.complete
    assert at == len(encode(first, NONCE))
    assert (decoder.kind, decoder.sequence, decoder.ack, decoder.credit) == (16, 1, 2, 3)
    assert decoder.payload == b"one"
    assert decoder.take(wire, at, len(wire)) == len(wire)
    assert decoder.payload == b"two"
    assert decoder.take(b"\0\0", 0, 2) == 2
    assert not decoder.complete


def test_the_nonce_may_change_between_two_frames_of_a_chunk() -> None:
    wire = encode(Frame(codec.HELLO), 0) + encode(Frame(codec.ESTOP), NONCE)
    decoder = Decoder()
    at = decoder.take(wire, 0, len(wire))
    decoder.nonce = NONCE
    decoder.take(wire, at, len(wire))
    assert decoder.complete
    assert decoder.kind == codec.ESTOP


def test_too_long_a_payload_is_refused_before_it_is_sent() -> None:
    with pytest.raises(ValueError, match="too long"):
        encode(Frame(codec.EVENT, payload=bytes(codec.PAYLOAD_LIMIT_BYTES + 1)), NONCE)


def test_an_encoder_reuses_its_buffer() -> None:
    encoder = Encoder(NONCE)
    long = encoder.encode(codec.PONG, 0, 0, 0, b"\x01" * 8)
    before = encoder.wire
    short = encoder.encode(codec.ACK, 0, 7, 16, b"")
    assert encoder.wire is before
    assert short < long
    assert bytes(encoder.wire[:short]) == encode(Frame(codec.ACK, ack=7, credit=16), NONCE)


def test_frames_are_values() -> None:
    assert Frame(1) == Frame(1)
    assert Frame(1) != Frame(2)
    assert Frame(1) != (1, 0, 0, 0, b"")
    assert len({Frame(1), Frame(1), Frame(2)}) == 2
    assert repr(Frame(1)) == "Frame(1, 0, 0, 0, b'')"


@given(st.binary(max_size=600))
def test_no_input_makes_the_decoder_raise(data: bytes) -> None:
    decoder = Decoder(NONCE)
    decoder.feed(data)
    assert decoder.feed(b"\0" + encode(Frame(codec.ACK), NONCE)) == [Frame(codec.ACK)]


def with_crc(raw: bytes) -> bytes:
    return raw + struct.pack("<I", binascii.crc32(raw, NONCE))


def stuffed(raw: bytes) -> bytes:
    """COBS as in its paper, with full blocks, between two delimiters."""
    out = bytearray()
    for block in raw.split(b"\0"):
        rest = block
        while len(rest) >= 254:
            out += b"\xff" + rest[:254]
            rest = rest[254:]
        out += bytes([len(rest) + 1]) + rest
    return b"\0" + bytes(out) + b"\0"
