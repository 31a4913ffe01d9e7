import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import WrongDevice
from agent.link.configuration import (
    NO_HASH,
    PinEntry,
    hash_of_wire,
    overlaid,
    read_entries,
    wire_of,
)
from agent.link.devices.device_row import DeviceRow
from agent.link.devices.device_table import ROWS
from agent.link.manifest import MAX_PINS, read_manifest
from agent.link.pin_settings import PinSettings
from tests.fakes.board import MANIFEST_JSON

MANIFEST = read_manifest(MANIFEST_JSON)
PUMP = PinSettings(
    pin="PB0",
    active="low",
    lease_ms=1000,
    max_on_s=10.0,
    min_off_s=1.5,
    max_per_minute=2,
    only_while={"level_ok": "on", "door": "off"},
    danger="hazard",
    aliases=("水泵",),
)
LEVEL = PinSettings(pin="PA4", kind="input", pull="up", debounce_ms=20)


def entries_of(wire: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(wire)["pins"]
    return found


def test_the_wire_has_what_differs_in_the_words_of_the_firmware() -> None:
    assert entries_of(wire_of({"pump": PUMP})) == [
        {
            "name": "pump",
            "kind": "output",
            "pin": "PB0",
            "active_low": True,
            "lease_ms": 1000,
            "max_on_ms": 10_000,
            "min_off_ms": 1500,
            "per_minute": 2,
            "needs": [["door", 0], ["level_ok", 1]],
            "safety": "hazard",
        }
    ]


@pytest.mark.parametrize(
    ("pin", "option"),
    [
        (PinSettings(pin="PB0", safe="on"), {"safe": 1}),
        (PinSettings(pin="PB0", kind="pwm", safe="on"), {"safe": 100}),
        (PinSettings(pin="PB0", kind="counter", debounce_ms=5), {"debounce_us": 5000}),
        (LEVEL, {"debounce_ms": 20, "pull": "up"}),
        (PinSettings(pin="PB8", kind="bme280", sda="PB9", address=0x77), {"address": 0x77}),
    ],
)
def test_options_are_those_of_the_kind(pin: PinSettings, option: dict[str, Any]) -> None:
    (entry,) = entries_of(wire_of({"x": pin}))
    assert option.items() <= entry.items()


def test_the_same_settings_in_another_order_are_the_same_bytes() -> None:
    one = wire_of({"pump": PUMP, "level_ok": LEVEL})
    other = wire_of({"level_ok": LEVEL, "pump": PUMP})
    assert one == other
    assert b" " not in one
    assert hash_of_wire(one) == hash_of_wire(other) != NO_HASH


def test_aliases_stay_here() -> None:
    assert "水泵" not in wire_of({"pump": PUMP}).decode()
    assert b"aliases" not in wire_of({"pump": PUMP})


def test_nothing_configured_is_nothing() -> None:
    assert wire_of({}) == b""
    assert hash_of_wire(b"") == NO_HASH
    assert read_entries(b"") == ()


def test_what_was_written_is_read() -> None:
    level, pump = read_entries(wire_of({"pump": PUMP, "level_ok": LEVEL}))
    assert level == PinEntry("level_ok", "input", "PA4")
    assert (pump.needs, pump.max_on_ms) == ((("door", 0), ("level_ok", 1)), 10_000)


@pytest.mark.parametrize(
    "wire", [b"{", b"[]", b'{"v":1}', b'{"v":2,"pins":[]}', b'{"v":1,"pins":[{}]}', b"[" * 9999]
)
def test_what_makes_no_sense_is_refused(wire: bytes) -> None:
    with pytest.raises(WrongDevice):
        read_entries(wire)


@given(st.binary())
def test_noise_is_refused_or_read(noise: bytes) -> None:
    with contextlib.suppress(WrongDevice):
        read_entries(noise)


class TestOverlay:
    def test_the_configured_come_after_the_boards_own(self) -> None:
        pins = {"fan": PinSettings(pin="PB9"), "dim": PinSettings(pin="PB8", kind="pwm")}
        found = overlaid(MANIFEST, read_entries(wire_of(pins)), pins).pins
        assert found[: len(MANIFEST.pins)] == MANIFEST.pins
        assert [(pin.index, pin.name, pin.can) for pin in found[len(MANIFEST.pins) :]] == [
            (5, "dim", ("pwm",)),
            (6, "fan", ("out", "in")),
        ]

    @pytest.mark.parametrize(
        ("name", "pin", "hidden"), [("pump", "PB9", "pump"), ("heater", "PB1", "relay")]
    )
    def test_a_pin_whose_name_or_line_is_configured_is_hidden(
        self, name: str, pin: str, hidden: str
    ) -> None:
        pins = {name: PinSettings(pin=pin)}
        found = overlaid(MANIFEST, read_entries(wire_of(pins)), pins)
        own = [one.name for one in found.pins if one.index < len(MANIFEST.pins)]
        assert own == [one.name for one in MANIFEST.pins if one.name != hidden]
        # The numbers of the others stay
        assert {one.index for one in found.pins} == {0, 1, 2, 3, 4, 5} - {
            one.index for one in MANIFEST.pins if one.name == hidden
        }

    def test_every_line_of_a_bus_hides_what_was_on_it(self) -> None:
        pins = {"bus": PinSettings(pin="PB0", kind="i2c", sda="PB1")}
        found = overlaid(MANIFEST, read_entries(wire_of(pins)), pins)
        assert {"pump", "relay"}.isdisjoint(pin.name for pin in found.pins)

    def test_limits_and_aliases_are_shown(self) -> None:
        pins = {"pump": PUMP}
        (pump,) = overlaid(MANIFEST, read_entries(wire_of(pins)), pins).pins[-1:]
        assert (pump.safety, pump.max_on_ms, pump.per_minute) == ("hazard", 10_000, 2)
        assert pump.aliases == ("水泵",)

    def test_a_name_that_the_board_had_keeps_its_other_words(self) -> None:
        pins = {"led": PinSettings(pin="PC13", active="low", aliases=("light", "灯"))}
        (led,) = overlaid(MANIFEST, read_entries(wire_of(pins)), pins).pins[-1:]
        assert led.aliases == ("light", "灯", "blue led")

    def test_what_runs_on_the_board_without_our_settings_has_no_other_words(self) -> None:
        found = overlaid(MANIFEST, (PinEntry("valve", "output", "PB9"),), {})
        assert found.pins[-1].aliases == ()

    def test_more_than_the_masks_can_hold_is_left_out(self) -> None:
        entries = [PinEntry("\x1b", "output", "PE1")]
        entries += [PinEntry(f"p{number}", "output", f"PD{number}") for number in range(40)]
        assert max(pin.index for pin in overlaid(MANIFEST, entries, {}).pins) == MAX_PINS - 1

    def test_a_kind_of_a_newer_firmware_can_what_it_is_called(self) -> None:
        found = overlaid(MANIFEST, (PinEntry("eye", "radar", "PB9"),), {})
        assert found.pins[-1].can == ("radar",)

    @pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind)
    def test_every_line_of_a_kind_is_its_own(self, row: DeviceRow) -> None:
        lines = {line.name: f"PB{at}" for at, line in enumerate(row.lines, 1)}
        sources = {source.name: "tank" for source in row.sources}
        pins = {"it": PinSettings(pin="PB0", kind=row.kind, **lines, **sources)}
        (entry,) = read_entries(wire_of(pins))
        assert entry.mcu_pins == {"PB0", *lines.values()}
