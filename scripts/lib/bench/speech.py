"""Benchmark of speech: what the recogniser of this machine hears, and what an engine costs.

The voices are espeak-ng's, which are clear and all alike: people are harder to understand. What is
heard here is the most that can be hoped for, and not what a room with a microphone gives.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from agent.channels.speech import pocketsphinx
from agent.channels.speech.base import WAV
from agent.channels.speech.engines import SpeechParts, open_programs
from agent.channels.speech.grammar import DeviceGrammar, grammar_of
from agent.channels.speech.pcm import Pcm, wav_of
from agent.channels.speech.wyoming import WyomingRecogniser
from agent.channels.speech_settings import SpeechSettings
from agent.messages import Attachment
from agent.net.http import HttpClient
from scripts.lib.bench.child import Cost, run_measured
from scripts.lib.bench.played_back import WHOLE, Played, play_back
from scripts.lib.bench.played_back import rows as played_rows
from scripts.lib.bench.recordings import (
    NOISE_DB,
    WITHOUT_SOUND_SERVER,
    Recording,
    recorded,
    sentences,
)
from scripts.lib.bench.table import NO_BAR, Row, show
from tests.fakes.board_sim import BoardSim

VOICES = ("en-us", "en-gb", "en-us+f3")
NAMES = ("led", "lamp", "pump", "heater", "fan", "red_led", "living_room_light")
# A Pi Zero 2 W has 512 MB, of which the agent has 60
MOST_CHILD_MB = 64.0
LEAST_HEARD = 0.9
# Said in a house, and to nobody's device
OTHERS = (
    *("good morning", "how are you today", "thank you very much", "see you tomorrow"),
    *("the weather will be sunny", "please tell me a story about a dog", "where are my keys"),
    *("turn the page over now", "turn left at the church", "could you stop that noise"),
    *("i think the lead actor was good", "the price of oil went up again", "dinner is ready"),
    *("open a window it is hot in here", "close your eyes", "what is for lunch", "one two three"),
    *("he switched sides in the middle of the game", "read me the news", "is she on the phone"),
)


def main(arguments: Sequence[str]) -> int:
    """Print the table; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="bench-speech", description=__doc__)
    parser.add_argument("--voices", type=int, default=len(VOICES), help="how many voices speak")
    parser.add_argument("--every", type=int, default=1, help="take every N-th sentence alone")
    parser.add_argument("--server", help="ask a Wyoming server too, such as tcp://host:10300")
    parser.add_argument("--played-back", type=int, default=0, help=f"how many; {WHOLE} for all")
    wanted = parser.parse_args(arguments)
    if wanted.played_back:
        played = asyncio.run(_played_back(wanted.played_back))
        show(found := [*played_rows([played])])
        return int(not all(row.held for row in found))
    grammar, voices = grammar_of(NAMES), VOICES[: wanted.voices]
    own = [*recorded([*sentences(grammar)][:: wanted.every], voices)]
    others = [*recorded(OTHERS[:: wanted.every], voices)]
    rows = [*_on_the_device(grammar, own, others), *_speaker(own)]
    if wanted.server:
        rows += asyncio.run(_at_the_server(wanted.server, own))
    show(rows)
    return int(any(row.held is False for row in rows))


def _on_the_device(
    grammar: DeviceGrammar, own: Sequence[Recording], others: Sequence[Recording]
) -> Iterator[Row]:
    asked = msgspec.json.encode(grammar) + b"\n"
    costs: list[Cost] = []
    for noise_db in (None, NOISE_DB):
        counts = Counter[str]()
        for one in _with(noise_db, own):
            heard, cost = _heard(asked, one.pcm)
            costs.append(cost)
            counts[_verdict(one.sentence, heard)] += 1
        yield _row_of_own("pocketsphinx", noise_db, counts, None if noise_db else LEAST_HEARD)
    for noise_db in (None, NOISE_DB):
        told = [_heard(asked, one.pcm)[0] for one in _with(noise_db, others)]
        what = f"pocketsphinx: other talk that is taken for an order, {_noise(noise_db)}"
        yield Row(what, NO_BAR, f"{sum(map(bool, told))} of {len(told)}", "0 would be right", None)
    most_mb = max(cost.most_mb for cost in costs)
    yield Row(
        "pocketsphinx: memory of its process, which ends with each recording",
        f"<= {MOST_CHILD_MB:.0f} MB",
        f"{most_mb:.0f} MB",
        "",
        most_mb <= MOST_CHILD_MB,
    )
    told_s = f"{_median([cost.cpu_s for cost in costs]):.2f} s"
    yield Row("pocketsphinx: CPU time of a recording, median", NO_BAR, told_s, "", None)


def _with(noise_db: float | None, recordings: Sequence[Recording]) -> Iterator[Recording]:
    return (one for one in recordings if one.noise_db == noise_db)


def _median(numbers: Sequence[float]) -> float:
    return sorted(numbers)[len(numbers) // 2]


def _heard(asked: bytes, pcm: Pcm) -> tuple[str, Cost]:
    argv = (sys.executable, "-I", str(pocketsphinx.PROGRAM))
    output, cost = run_measured(argv, asked + pcm.samples)
    return str(json.loads(output)["text"]), cost


def _verdict(said: str, heard: str) -> str:
    if heard == said or heard == said.replace("the ", ""):
        return "right"
    return "wrong" if heard else "nothing"


def _row_of_own(
    engine: str, noise_db: float | None, counts: Counter[str], bar: float | None
) -> Row:
    whole = counts.total()
    share = counts["right"] / whole
    told = f"{share:.0%} right, {counts['wrong']} wrong, {counts['nothing']} not, of {whole}"
    what = f"{engine}: the device's own sentences, {_noise(noise_db)}"
    if bar is None:
        return Row(what, NO_BAR, told, "", None)
    return Row(what, f">= {bar:.0%} right", told, "", share >= bar)


def _noise(noise_db: float | None) -> str:
    return "clean" if noise_db is None else f"noise at {noise_db:.0f} dB"


def _speaker(own: Sequence[Recording]) -> Iterator[Row]:
    speaking = ("/usr/bin/espeak-ng", "--stdin", "--stdout", "-b", "1", "-v", VOICES[0])
    coding = ("/usr/bin/opusenc", "--quiet", "--bitrate", "24", "-", "-")
    costs: dict[str, list[Cost]] = {"espeak-ng": [], "opusenc": []}
    for one in own[:40]:
        wav, cost = run_measured(speaking, one.sentence.encode(), WITHOUT_SOUND_SERVER)
        costs["espeak-ng"].append(cost)
        costs["opusenc"].append(run_measured(coding, wav)[1])
    for program, found in costs.items():
        cpu_ms = 1000 * _median([cost.cpu_s for cost in found])
        told = f"{max(cost.most_mb for cost in found):.0f} MB, {cpu_ms:.0f} ms"
        yield Row(f"{program}: memory and CPU time of a sentence", NO_BAR, told, "", None)


async def _played_back(count: int) -> Played:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with BoardSim(place, {"values": {}, "script": []}) as sim:
            return await play_back(count, place, sim)


async def _at_the_server(server: str, own: Sequence[Recording]) -> list[Row]:
    http = HttpClient()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        programs = open_programs(SpeechParts({}, http, place))
        engine = WyomingRecogniser(SpeechSettings(kind="wyoming", server=server), programs)
        for noise_db in (None, NOISE_DB):
            counts, begun_s = Counter[str](), time.monotonic()
            for one in _with(noise_db, own):
                words, _ = await engine.words(_kept(place / "said.wav", one.pcm))
                plain = "".join(sign for sign in words.lower() if sign.isalpha() or sign == " ")
                counts[_verdict(one.sentence, plain.strip())] += 1
            row = _row_of_own(server, noise_db, counts, None)
            mean_s = (time.monotonic() - begun_s) / counts.total()
            rows.append(Row(row.what, NO_BAR, row.measured, f"{mean_s:.2f} s each", None))
    await http.aclose()
    return rows


def _kept(path: Path, pcm: Pcm) -> Attachment:
    path.write_bytes(wav_of(pcm))
    return Attachment(str(path), WAV)
