"""Forms of the configuration's sections: every key of every section, there and back."""

import tomllib
from typing import Any

import msgspec
import pytest

from agent.app.console.settings_field import FieldKind, FormField
from agent.app.console.settings_form import FormSection, section_at, sections
from agent.app.console.settings_hints import hint
from agent.settings import Settings
from agent.turn.settings import AgentSettings

FILE: dict[str, Any] = tomllib.loads("""
[agent.rules.pump]
tool = "board_*"
where = { pin = "pump" }
[board.pins.pump]
pin = "PB0"
[boards.shed.pins.fan]
pin = "PB1"
[channels.telegram]
token = "123:abc"
""")
EVERY = [
    pytest.param(section, id=".".join(section.where))
    for section in sections({**FILE, "providers": {"x": {}}, "mcp": {"x": {}}, "pins": {"x": {}}})
]


def field_of(where: str, name: str) -> FormField:
    section = section_at(tuple(where.split(".")))
    assert section is not None
    return next(one for one in section.fields() if one.name == name)


def test_the_sections_are_those_of_the_types_with_the_names_of_the_file() -> None:
    found = {".".join(one.where): one.is_set for one in sections(FILE)}
    wanted = {"agent", "agent.rules.pump", "board.pins.pump", "boards.shed.pins.fan"}
    assert wanted | {"channels.telegram"} <= {name for name, is_set in found.items() if is_set}
    assert not found["gateway"]
    assert "channels" not in found


@pytest.mark.parametrize("section", EVERY)
def test_what_a_form_shows_of_a_default_is_read_as_it_is(section: FormSection) -> None:
    defaults = {one.encode_name: one for one in msgspec.structs.fields(section.kind)}
    for field in section.fields():
        default = defaults[field.name].default
        if field.is_secret or default is msgspec.NODEFAULT or default is None:
            continue
        plain = msgspec.to_builtins(default)
        wanted = list(plain) if isinstance(plain, tuple) else plain
        read = field.read(field.usual)
        # An empty one leaves the key out
        assert read == wanted or (read is None and wanted in ("", [], {})), field.name


@pytest.mark.parametrize(
    ("where", "is_optional"),
    [("agent", False), ("gateway", True), ("agent.rules.pump", True), ("channels.irc", True)],
)
def test_a_table_that_may_be_left_out_is_known(where: str, *, is_optional: bool) -> None:
    section = section_at(tuple(where.split(".")))
    assert section is not None
    assert section.is_optional is is_optional


@pytest.mark.parametrize("where", ["", "nothing", "agent.name", "agent.rules", "boards.A B"])
def test_there_is_no_form_for_what_is_no_table(where: str) -> None:
    assert section_at(tuple(where.split("."))) is None


@pytest.mark.parametrize(
    ("where", "name", "kind", "text", "value"),
    [
        ("agent", "name", FieldKind.TEXT, "Rosa", "Rosa"),
        ("terminal", "prompt", FieldKind.TEXT, "$ ", "$ "),
        ("agent", "autonomy", FieldKind.CHOICE, "full", "full"),
        ("agent", "summaries", FieldKind.FLAG, "false", False),
        ("agent", "turn_timeout_s", FieldKind.NUMBER, " 60 ", 60),
        ("agent", "turn_timeout_s", FieldKind.NUMBER, "soon", "soon"),
        ("agent.rules.pump", "per_hour", FieldKind.NUMBER, "6", 6),
        ("agent.rules.pump", "where", FieldKind.PAIRS, "pin = pump", {"pin": "pump"}),
        ("board", "baud", FieldKind.TEXT, "115200", 115200),
        ("board", "baud", FieldKind.TEXT, "auto", "auto"),
        ("web", "allow", FieldKind.LINES, "a.org\r\n\r\nb.org\r\n", ["a.org", "b.org"]),
        ("provider", "temperature", FieldKind.NUMBER, "0.5", 0.5),
        ("provider", "more_keys", FieldKind.HIDDEN_LINES, "one\ntwo", ["one", "two"]),
        ("provider", "prices", FieldKind.TOML, "{ m = { input = 1 } }", {"m": {"input": 1}}),
        ("provider", "prices", FieldKind.TOML, "{ m", "{ m"),
    ],
)
def test_what_is_typed_becomes_a_value(
    where: str, name: str, kind: FieldKind, text: str, value: object
) -> None:
    field = field_of(where, name)
    assert field.kind is kind
    assert field.read(text) == value
    assert field.read(" \r\n") is None


def test_what_the_file_has_is_shown_as_it_is_typed() -> None:
    assert field_of("web", "allow").shown(["a.org", "b.org"]) == "a.org\nb.org"
    assert field_of("agent.rules.x", "where").shown({"pin": "pump"}) == "pin = pump"
    prices = {"a model": {"input": 1, "output": 2.5}}
    field = field_of("provider", "prices")
    assert field.read(field.shown(prices)) == prices


def test_a_secret_is_never_shown() -> None:
    assert field_of("channels.telegram", "token").shown("123:abc") == ""
    assert field_of("provider", "more_keys").shown(["a-key"]) == ""
    assert all(field.is_secret or "key" not in field.shown("key") for field in _secrets())


def _secrets() -> list[FormField]:
    every = (one for section in sections({}) for one in section.fields())
    return [field for field in every if field.kind.value.startswith("secret")]


def test_a_key_has_the_sentence_of_the_example() -> None:
    section = section_at(("agent",))
    assert section is not None
    assert section.kind is AgentSettings
    assert hint(section, "name") == "What the device calls itself."
    shed = section_at(("boards", "shed"))
    assert shed is not None
    assert "serial port" in hint(shed, "port")
    plain = [one for one in sections({}) if len(one.where) == 1]
    said = [hint(one, field.name) for one in plain for field in one.fields()]
    assert len([text for text in said if text]) > 0.85 * len(said)


def test_every_section_of_the_types_is_found() -> None:
    tops = {one.where[0] for one in sections({})}
    named = {"providers", "boards", "pins", "i2c", "agents", "mcp"}
    assert tops | named == set(Settings.__struct_fields__)
