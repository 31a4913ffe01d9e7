import struct

from hypothesis import given
from hypothesis import strategies as st

from agent.link.frame import HELLO_ACK_FORMAT, PROTOCOL_VERSION
from agent.link.hello import MAX_BOARD_NAME_CHARS, hello_payload, read_hello
from tests.fakes.peer import hello_ack


def test_hello_carries_both_versions_and_the_nonce() -> None:
    version = bytes([PROTOCOL_VERSION])
    assert hello_payload(0x01020304) == version + version + b"\x04\x03\x02\x01"


def test_a_greeting_says_who_answers() -> None:
    greeting = read_hello(hello_ack(7, boot_count=3, reset_cause=4, flash_class=1))
    assert greeting is not None
    identity = greeting.identity
    assert (greeting.nonce, greeting.window_bytes, greeting.manifest_hash) == (7, 1024, bytes(8))
    assert (identity.board, identity.firmware, identity.build) == ("scripted", "0.1.0", 42)
    assert (identity.reset_cause, identity.boot_count) == ("brown-out", 3)
    assert (identity.flash_class, identity.unique_id) == ("fat-16k", "000102030405060708090a0b")
    assert greeting.is_understood


def test_version_0_means_that_none_is_common() -> None:
    greeting = read_hello(hello_ack(7, version=0))
    assert greeting is not None
    assert not greeting.is_understood


def test_causes_and_classes_of_a_newer_board_are_unknown() -> None:
    greeting = read_hello(hello_ack(7, reset_cause=99, flash_class=99))
    assert greeting is not None
    assert (greeting.identity.reset_cause, greeting.identity.flash_class) == ("unknown", "none")


def test_a_name_is_cleaned_and_capped() -> None:
    greeting = read_hello(hello_ack(7, name=b"\x1b[2J\xff" + b"x" * 90))
    assert greeting is not None
    assert greeting.identity.board.isprintable()
    assert len(greeting.identity.board) == MAX_BOARD_NAME_CHARS


def test_too_short_is_no_greeting() -> None:
    size = struct.calcsize(HELLO_ACK_FORMAT)
    assert read_hello(hello_ack(7)[: size - 1]) is None
    assert read_hello(hello_ack(7)[:size]) is not None


@given(st.binary(max_size=120))
def test_any_bytes_are_a_greeting_or_none(payload: bytes) -> None:
    greeting = read_hello(payload)
    assert greeting is None or greeting.identity.board.isprintable()
