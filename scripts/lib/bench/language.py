"""Measures what the device understands without a model: others' sentences, a sweep of numbers.

The folder holds JSON files of test sentences, by locale and intent. Of their intents these classes
are made; all others have no right answer here, and only wrong acts count:

* on/off by name: HassTurnOn and HassTurnOff with a name alone, of lights, switches, fans, scripts;
* open / close / lock by name: the same intents, of covers, valves and locks (open is on; to turn
  a lock on is to lock it, which is off);
* level by name: HassLightSet with a brightness, HassFanSetSpeed, HassSetPosition, by name alone;
* "is it on?": HassGetState with a name and a state, the pin is read;
* temperature: HassClimateGetTemperature without a name;
* time and date: HassGetCurrentTime, HassGetCurrentDate;
* timers: every intent about timers (language_timers.py beside this file);
* name and place, kind with or without place: without a bar; no pin here has a place or a group.

Each sentence is said alone, to a device with the pins of its file and all tools of the agent.
"""

import argparse
import asyncio
import hashlib
import json
import resource
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from agent.messages import ChatMessage
from agent.passage import echo, own
from agent.providers.base import ChatRequest, ChatResponse
from agent.providers.offline.provider import OfflineProvider
from scripts.lib.bench.language_numbers import sweep
from scripts.lib.bench.language_score import Case, Said, cases, verdict
from scripts.lib.bench.language_tables import (
    class_rows,
    cost_rows,
    show_classes,
    show_missed,
    show_sweep,
    show_wrong,
    sweep_rows,
)
from scripts.lib.bench.table import show

_KB = 1024


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit status whether every bar is held."""
    given = _parser().parse_args(arguments)
    asked = [case for case in _read(given.data) if given.half in {"both", _half(case.sentence)}]
    if not asked:
        print(f"bench-language: {given.data} has no sentences", file=sys.stderr)
        return 2
    provider = OfflineProvider()
    asyncio.run(_warm(provider, asked))
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = asyncio.run(_said(provider, asked))
    grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb) / _KB
    swept = {
        kind: asyncio.run(_said(provider, list(sweep(in_words=kind == "words"))))
        for kind in ("digits", "words")
    }
    show_classes(said)
    show_wrong(said)
    show_sweep(swept)
    if given.missed:
        show_missed([*said, *swept["digits"], *swept["words"]], given.missed)
    rows = [*class_rows(said), *sweep_rows(swept), *cost_rows(said, grown_mb)]
    print()
    show(rows)
    return 0 if all(row.held is not False for row in rows) else 1


def _read(folder: Path) -> Iterator[Case]:
    for path in sorted(folder.glob("*.json")):
        for locale, files in json.loads(path.read_text("utf-8")).items():
            yield from cases(locale, files)


def _half(sentence: str) -> str:
    """Return the half of a sentence: one to work with, one to judge by."""
    return "a" if hashlib.sha256(f"half {sentence}".encode()).digest()[0] % 2 else "b"


async def _warm(provider: OfflineProvider, asked: Sequence[Case]) -> None:
    """The vocabulary is read and the tools are made before anything is measured."""
    await provider.warm_up()
    for locale in {case.locale: case for case in asked}.values():
        await _answer(provider, locale)
    for case in asked:
        _ = case.home.tools


async def _said(provider: OfflineProvider, asked: Iterable[Case]) -> list[Said]:
    said: list[Said] = []
    for case in asked:
        _ = case.home.tools
        # Of the processor: others share this machine
        began_s = time.process_time()
        response = await _answer(provider, case)
        took_ms = (time.process_time() - began_s) * 1e3
        said.append(Said(case, response, verdict(case, response), took_ms))
    return said


async def _answer(provider: OfflineProvider, case: Case) -> ChatResponse:
    messages = (ChatMessage.system(own("You are Barnacle.")), ChatMessage.user(echo(case.sentence)))
    return await provider.chat(ChatRequest(messages, case.home.tools))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench-language", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder with the sentences")
    parser.add_argument(
        "--half", choices=("a", "b", "both"), default="both", help="only half of the sentences"
    )
    parser.add_argument(
        "--missed", metavar="CLASS", help='list what was not right of a class, or of "all"'
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
