"""The board's fast codec and the one source of both sides do the same, in the real interpreter."""

import os
import subprocess
from pathlib import Path

from firmware.host.bundle import FIRMWARE, bundle, lay_out
from firmware.host.shrink import shrunk

PROGRAM = """
import random
import frame
from node import codec

assert frame.RAW_LIMIT_BYTES == 248
chance = random.getrandbits
random.seed(5)
encoders = frame.Encoder(7), codec.Encoder(7)
decoders = frame.Decoder(7), codec.Decoder(7)


def below(limit):
    return random.randrange(limit)


def taken(decoder, part):
    found = []
    at = 0
    while at < len(part):
        at = decoder.take(part, at, len(part))
        if decoder.complete:
            found.append((decoder.kind, bytes(decoder.payload)))
    return found


for number in range(6_000):
    size = below(241) if number % 50 == 0 else below(20)
    payload = bytes(random.choice((0, 1, 255, chance(8))) for _ in range(size))
    wires = [
        bytes(one.wire[: one.encode(16, number & 255, 2, 3, payload)]) for one in encoders
    ]
    assert wires[0] == wires[1]
    wire = bytearray(wires[0])
    if number % 3 == 0:
        wire[below(len(wire))] ^= 1 << below(8)
    if number % 7 == 0:
        wire = wire[: below(len(wire))]
    if number % 100 == 0:
        wire += bytearray(b"\\xff" * 300)
    cut = below(len(wire) + 1)
    for part in (bytes(wire[:cut]), bytes(wire[cut:])):
        assert taken(decoders[0], part) == taken(decoders[1], part)
for name in ("frames", "crc_errors", "malformed", "overlong"):
    counts = [getattr(one, name) for one in decoders]
    assert counts[0] == counts[1] > 0, name
print("same")
"""


def test_the_fast_codec_does_what_the_shared_one_does(micropython_command: list[str]) -> None:
    folders = [FIRMWARE, FIRMWARE.parent / "agent" / "link"]
    said = subprocess.run(
        [*micropython_command, "-c", PROGRAM],
        env={**os.environ, "MICROPYPATH": ":".join(map(str, folders))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.stdout, said.stderr) == ("same\n", "")


def test_where_there_is_no_machine_code_the_shared_one_does_it_all(
    micropython_command: list[str], tmp_path: Path
) -> None:
    lay_out(shrunk(bundle("simulated")), tmp_path)
    codec = tmp_path / "node" / "codec.py"
    codec.write_text(codec.read_text().replace("@micropython.viper", "@micropython.unknown"))
    program = "import frame; from node import session; print(session.codec is frame)"
    said = subprocess.run(
        [*micropython_command, "-c", program],
        env={**os.environ, "MICROPYPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.stdout, said.stderr) == ("True\n", "")
