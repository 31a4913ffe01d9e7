"""Every single-bit flip of every kind of frame, shown to the decoder of both interpreters."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from agent.link.frame import KIND_RESERVED, PAYLOAD_LIMIT_BYTES, Decoder, Frame, encode
from firmware.host import interpreter
from scripts.lib.bench.table import Row

_NONCE = 0xC0FFEE01
# Nothing, a greeting, a chunk with zeros in it, all that fits
_PAYLOADS = (b"", b"\x01\x01\x01\xee\xff\xc0", bytes(range(0, 200, 5)), b"\x10" * 238 + b"\0\x02")
# As much as a slow machine needs for the largest run
_LIMIT_S = 300.0
_LINK = Path(__file__).resolve().parents[3] / "agent" / "link"
# Runs under both: reads frames in hexadecimal, says how many flips there were and got through
_PROGRAM = """
import binascii, sys
from frame import Decoder

flips = accepted = sound = 0
for line in sys.stdin:
    whole = binascii.unhexlify(line.strip())
    sound += len(Decoder(0xC0FFEE01).feed(whole))
    for bit in range(8 * len(whole)):
        spoiled = bytearray(whole)
        spoiled[bit >> 3] ^= 1 << (bit & 7)
        spoiled.append(0)
        flips += 1
        accepted += len(Decoder(0xC0FFEE01).feed(spoiled))
print(flips, accepted, sound)
"""


def measure(*, quick: bool) -> Row:
    """The row of the flips."""
    frames = list(_frames(2 if quick else len(_PAYLOADS)))
    here = _here(frames)
    there = _on_micropython(frames)
    return Row(
        "every single-bit flip of every frame kind",
        "0 accepted",
        f"{here[1]} + {there[1]} of {here[0]:,} + {there[0]:,} (CPython + MicroPython)",
        f"{here[2]} + {there[2]} of {len(frames)} sound ones accepted",
        here[1] == there[1] == 0 and here[0] == there[0] and here[2] == there[2] == len(frames),
    )


def _frames(payloads: int) -> Iterator[bytes]:
    """Every kind that a header can name, also those that have no meaning yet."""
    for kind in range(KIND_RESERVED ^ 0xFF):
        if kind & KIND_RESERVED == 0:
            for payload in _PAYLOADS[:payloads]:
                assert len(payload) <= PAYLOAD_LIMIT_BYTES
                yield encode(Frame(kind, 3, 2, 16, payload), _NONCE)


def _here(frames: list[bytes]) -> tuple[int, int, int]:
    flips = accepted = 0
    for whole in frames:
        for bit in range(8 * len(whole)):
            spoiled = bytearray(whole)
            spoiled[bit >> 3] ^= 1 << (bit & 7)
            flips += 1
            accepted += len(Decoder(_NONCE).feed(spoiled + b"\0"))
    return flips, accepted, sum(len(Decoder(_NONCE).feed(whole)) for whole in frames)


def _on_micropython(frames: list[bytes]) -> tuple[int, int, int]:
    said = subprocess.run(
        [*interpreter.find(), "-c", _PROGRAM],
        input="".join(f"{frame.hex()}\n" for frame in frames),
        env={**os.environ, "MICROPYPATH": str(_LINK)},
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=True,
    )
    flips, accepted, sound = map(int, said.stdout.split())
    return flips, accepted, sound
