import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import WrongDevice
from agent.link import manifest as module
from agent.link.manifest import Manifest, read_manifest
from tests.fakes.board import MANIFEST_JSON


def manifest_of(**changed: Any) -> Manifest:
    return read_manifest(json.dumps({"manifest": 1, "board": "test", **changed}).encode())


def method(**changed: Any) -> dict[str, Any]:
    return {"id": 16, "name": "do", "about": "Does it."} | changed


def pin(**changed: Any) -> dict[str, Any]:
    return {"index": 0, "name": "led", "pin": "PC13"} | changed


def field(**changed: Any) -> dict[str, Any]:
    return {"name": "value", "format": "B"} | changed


def test_a_manifest_of_the_wire_format_is_read_whole() -> None:
    manifest = read_manifest(MANIFEST_JSON)
    assert [one.name for one in manifest.methods] == [
        "gpio_write",
        "gpio_read",
        "adc_read",
        "mcu_temperature",
    ]
    assert [one.name for one in manifest.pins_that_can("out")] == ["led", "pump", "relay"]
    write = manifest.method("gpio_write")
    assert write is not None
    assert (write.safety, write.lease, write.result[0].choices) == ("actuate", True, ("off", "on"))
    assert manifest.method("fly") is None


def test_unknown_keys_of_a_newer_board_are_ignored() -> None:
    manifest = manifest_of(methods=[method(colour="red")], moods=["good"])
    assert [one.name for one in manifest.methods] == ["do"]


def test_a_safety_class_nobody_knows_is_a_hazard() -> None:
    (only,) = manifest_of(methods=[method(safety="harmless, believe me")]).methods
    assert only.safety == "hazard"


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'{"manifest": "1", "board": "x"}', b'{"board": "x"}', b"\xff{}"]
)
def test_what_is_no_manifest_is_a_wrong_device(raw: bytes) -> None:
    with pytest.raises(WrongDevice, match="cannot read"):
        read_manifest(raw)


def test_another_version_names_the_remedy() -> None:
    with pytest.raises(WrongDevice, match=r"version 2.*update the agent"):
        manifest_of(manifest=2)


@pytest.mark.parametrize(
    "entry",
    [
        method(name="Do"),
        method(name="do it"),
        method(name="d" * 33),
        method(name="../../etc"),
        method(id=15),
        method(id=256),
        method(arguments=[field(name=f"n{n}") for n in range(9)]),
        method(arguments=[field(), field()]),
        method(arguments=[field(name="__class__")]),
        method(arguments=[field(format="100s")]),
        method(arguments=[field(format="f", choices=["a"])]),
        method(result=[field(choices=["on", "on"])]),
        method(result=[field(choices=["\n"])]),
        method(result=[field(choices=[f"c{n}" for n in range(33)])]),
        method(arguments=[field(scale=0)]),
        method(arguments=[field(scale=-1)]),
        method(arguments=[field(minimum=2, maximum=1)]),
        method(about=7),
    ],
)
def test_an_unfit_method_is_left_out_and_the_rest_stays(
    entry: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        manifest = manifest_of(methods=[entry, method(id=17, name="other")])
    assert [one.name for one in manifest.methods] == ["other"]
    assert "ignored (kind=method" in caplog.text


@pytest.mark.parametrize(
    "entry", [pin(index=32), pin(index=-1), pin(name="Led!"), pin(name=""), pin(aliases="abc")]
)
def test_an_unfit_pin_is_left_out(entry: dict[str, Any]) -> None:
    assert [one.name for one in manifest_of(pins=[entry, pin(index=1)]).pins] == ["led"]


def test_the_first_of_two_with_one_name_or_number_counts() -> None:
    pins = [pin(), pin(index=1), pin(name="other"), pin(index=2, name="third")]
    assert [one.name for one in manifest_of(pins=pins).pins] == ["led", "third"]


def test_texts_are_cleaned_and_capped() -> None:
    hostile = "\x1b[2J\n\u202e" + "x" * 10_000
    methods = [method(about=hostile, result=[field(unit=hostile)])]
    pins = [pin(aliases=[hostile, "", " \n"] + ["a"] * 100, can=[hostile], pin=hostile)]
    manifest = manifest_of(board=hostile, methods=methods, pins=pins)
    (only,), (led,) = manifest.methods, manifest.pins
    texts = [manifest.board, only.about, only.result[0].unit, led.pin, *led.aliases, *led.can]
    assert all(text.isprintable() for text in texts)
    assert max(map(len, texts)) <= module.MAX_ABOUT_CHARS
    assert len(led.aliases) <= module.MAX_ALIASES


def test_there_is_a_limit_to_methods_and_pins() -> None:
    manifest = manifest_of(
        methods=[method(id=16 + n, name=f"m{n}") for n in range(200)],
        pins=[pin(index=n % 32, name=f"p{n}") for n in range(200)],
    )
    assert len(manifest.methods) == module.MAX_METHODS
    assert len(manifest.pins) == module.MAX_PINS


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["id", "name", "format", "arguments", "scale", "index", "pins"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(_JSON, _JSON)
def test_no_manifest_whatever_causes_anything_but_a_refusal(methods: Any, pins: Any) -> None:
    try:
        manifest = manifest_of(methods=methods, pins=pins)
    except WrongDevice:
        return
    assert all(one.name.isidentifier() for one in (*manifest.methods, *manifest.pins))
