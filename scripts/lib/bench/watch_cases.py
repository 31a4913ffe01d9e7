"""Random watches, and what a board in MicroPython with a watcher at work makes of them."""

import json
import os
import random
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent.hardware.alarm import Alarm
from agent.hardware.watch_rehearsal import told_times
from agent.link.manifest import Manifest, read_manifest
from agent.link.readings import find_reading
from agent.link.settings import WatchSettings
from agent.passage import Provenance
from agent.readings.columns import Columns
from agent.readings.periods import Span
from agent.readings.rehearsal import Past
from agent.readings.series import Series, SeriesKind
from agent.readings.watched_events import watch_task, watched
from firmware.host import interpreter
from firmware.host.bundle import FIRMWARE, FRAME, REPOSITORY

DRIVER = REPOSITORY / "tests" / "firmware" / "watched_board.py"
# Longer than an hour, so that a watch may tell again
LENGTH_S = 5000
BEGIN_S = 1_790_000_000
_CADENCE_S = 60
# Longer than values count for
_GAP_S = 600
_MS = 1000


def manifest() -> Manifest:
    """Return the description of a board with a voltage and a switch."""
    switch = {"name": "value", "format": "B", "choices": ["off", "on"]}
    voltage = {"name": "value", "format": "H", "unit": "V", "scale": 0.001}
    methods = [_reader(17, "gpio_read", "in", switch), _reader(18, "adc_read", "adc", voltage)]
    pins = [
        {"index": 0, "name": "soil", "pin": "PA0", "can": ["adc"]},
        {"index": 1, "name": "door", "pin": "PA1", "can": ["in"]},
    ]
    described = {"manifest": 1, "board": "bench", "methods": methods, "pins": pins}
    return read_manifest(json.dumps(described).encode())


@dataclass(frozen=True, slots=True)
class WatchCase:
    """A watch, and what was recorded of its reading."""

    wanted: WatchSettings
    past: Past
    span: Span

    @property
    def alarm(self) -> Alarm:
        return Alarm("random", self.wanted, Provenance.OWNER)


def random_watch(seed: int, length_s: int = LENGTH_S) -> WatchCase:
    """Return a watch with a limit, for a value or for any change, and a history with gaps."""
    chance = random.Random(f"watch {seed}")  # noqa: S311 - the same case again
    is_switch = chance.random() < 0.4  # noqa: PLR2004 - a share
    name = "door" if is_switch else "soil"
    most = chance.choice([1, 3, 6, 600])
    if is_switch:
        becomes = chance.choice(["", "on", "off"])
        wanted = WatchSettings(pin=name, becomes=becomes, at_most_per_hour=most)
    else:
        key = chance.choice(["above", "below"])
        limit = {key: round(chance.uniform(0.9, 1.1), 3)}
        wanted = WatchSettings(pin=name, at_most_per_hour=most, **limit)
    series = Series(1, SeriesKind(name, "", is_switch=is_switch), _CADENCE_S)
    rows = _rows(chance, length_s, is_switch=is_switch)
    past = Past(find_reading(manifest(), name), series, rows)
    return WatchCase(wanted, past, Span(BEGIN_S * _MS, (BEGIN_S + length_s) * _MS))


async def rehearsed(case: WatchCase) -> list[int]:
    """Return when the rehearsal has the watch tell, in milliseconds since the beginning."""
    alarm = case.alarm
    events, _ = await watched(alarm.watch, case.past, case.span, None)
    told = told_times(alarm, manifest(), case.past.reading, events)
    return [at_ms - case.span.begin_ms for at_ms in told]


def events_of_board(cases: Sequence[WatchCase]) -> list[dict[str, Any]]:
    """Return what the firmware tells in MicroPython, in every pass of its loop.

    Raises:
        NoInterpreter: there is none on this machine.
    """
    done = subprocess.run(
        [*interpreter.find(), "-X", "heapsize=64m", str(DRIVER)],
        input="\n".join(json.dumps(_given(case)) for case in cases),
        env={**os.environ, "MICROPYPATH": f"{FIRMWARE}:{FRAME.parent}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def _given(case: WatchCase) -> dict[str, Any]:
    return watch_task(case.alarm.watch, case.past, case.span)


def _rows(chance: random.Random, length_s: int, *, is_switch: bool) -> Columns:
    rows, value = Columns(), 1.0
    at_s = BEGIN_S + chance.randint(0, 300)
    while at_s < BEGIN_S + length_s:
        if is_switch:
            value = float(chance.random() < 0.5)  # noqa: PLR2004 - a share
        else:
            value = max(0.8, min(1.2, value + chance.uniform(-0.06, 0.06)))
        for column in (rows.lows, rows.means, rows.highs):
            column.append(value)
        rows.at_ms.append(at_s * _MS + chance.randint(0, 999))
        rows.counts.append(1)
        for kept in (rows.on_ms, rows.known_ms, rows.starts):
            kept.append(0)
        # A sensor that fails now and then
        at_s += _GAP_S if chance.random() < 0.03 else chance.randint(1, _CADENCE_S)  # noqa: PLR2004 - a share
    return rows


def _reader(number: int, name: str, kind: str, result: dict[str, Any]) -> dict[str, Any]:
    argument = {"name": "pin", "format": "B", "pins": kind}
    about = {"id": number, "name": name, "about": "", "arguments": [argument]}
    return about | {"result": [result], "safety": "read"}
