"""A session whose other end is the test: what it says is read, what it is told is framed."""

import struct

from agent.link import frame as wire
from agent.link.frame import Decoder, Frame, encode
from agent.link.rate import Rates
from agent.link.session import Request, Session, SessionState
from tests.fakes.peer import hello_ack

NONCE = 0xC0FFEE


def fresh(rates: Rates | None = None) -> Session:
    return Session(NONCE, "/dev/x", 0.0, rates)


def opened(window_bytes: int = 4096, rates: Rates | None = None) -> Session:
    session = fresh(rates)
    session.tick(0.0)
    session.take_output()
    payload = hello_ack(NONCE, window_bytes=window_bytes)
    session.receive(encode(Frame(wire.HELLO_ACK, payload=payload)), 0.0)
    assert session.state is SessionState.OPEN
    return session


def said(session: Session) -> list[Frame]:
    return Decoder(NONCE).feed(session.take_output())


def kinds(session: Session) -> list[int]:
    return [frame.kind for frame in said(session)]


def tell(session: Session, frame: Frame, now_s: float = 0.0) -> None:
    session.receive(encode(frame, NONCE), now_s)


def answer(request_id: int, sequence: int, ack: int = 0, credit: int = 200) -> Frame:
    payload = struct.pack(wire.ANSWER_FORMAT, request_id, 0) + b"result"
    return Frame(wire.ANSWER, sequence, ack, credit, payload)


def ask(session: Session, request_id: int = 1, now_s: float = 0.0) -> None:
    session.request(Request(16, b"\x07", 500), request_id)
    session.tick(now_s)
