"""Files of Raspberry Pi Imager on the card, read as data; none of them is ever run.

Versions differ in the file: `user-data` and `network-config` (cloud-init), `custom.toml`,
`rpi-preseed.toml`, or `firstrun.sh`, of which only lines are read that call the Pi's own settings
program.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct

from agent.config import decode
from agent.errors import ConfigRefused
from agent.provision import card
from agent.provision.settings import MACHINE_TABLES, MachineSettings
from agent.provision.toml_text import Table, dumps

Value = str | list["Value"] | dict[str, "Value"]

# Imager's own has four levels
MAX_DEPTH = 12
_ENTRY = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'#\[\]{}-][^:#]*?)\s*:(?:\s+(.*))?""")
_BLOCK = re.compile(r"[|>][+-]?[1-9]?")
_BYTE = re.compile(r"\\x[0-9A-Fa-f]{2}")
_ESCAPE = re.compile(rb'\\(?:x([0-9A-Fa-f]{2})|([\\"nrtbf0]))')
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f", b"0": b"\0"}


class _Line(Struct, frozen=True):
    number: int
    indent: int
    text: str


def parse(text: str, name: str) -> dict[str, Value]:
    """The table that a file holds; `name` is what a refusal names.

    Raises:
        ConfigRefused: it holds what Imager does not write.
    """
    lines = [
        _Line(number, len(line) - len(line.lstrip(" ")), line.strip())
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith(("#", "---"))
    ]
    reader = _Reader(lines, name)
    value, at = reader.value(0, 0) if lines else ({}, 0)
    if at < len(lines) or not isinstance(value, dict):
        raise reader.refusal(min(at, len(lines) - 1))
    return value


class _Reader:
    """Reads values from lines; every position is the number of a line in the list."""

    def __init__(self, lines: Iterable[_Line], name: str) -> None:
        self._lines = list(lines)
        self._name = name

    def refusal(self, at: int) -> ConfigRefused:
        number = self._lines[at].number
        return ConfigRefused(
            f"{self._name}: line {number}: not written by Raspberry Pi Imager; put the "
            "setting into barnacle.toml, and remove this file"
        )

    def value(self, at: int, depth: int) -> tuple[Value, int]:
        """Return the value that begins there, and where it ends."""
        if depth > MAX_DEPTH:
            raise self.refusal(at)
        first = self._lines[at]
        if first.text == "-" or first.text.startswith("- "):
            return self._list(at, depth)
        return self._table(at, depth)

    def _list(self, at: int, depth: int) -> tuple[Value, int]:
        indent = self._lines[at].indent
        items: list[Value] = []
        while at < len(self._lines) and self._is_item(at, indent):
            line = self._lines[at]
            text = line.text[1:].lstrip()
            if _ENTRY.fullmatch(text):
                # A table that begins on the line of its dash
                inner = indent + len(line.text) - len(text)
                self._lines[at] = _Line(line.number, inner, text)
                item, at = self._table(at, depth + 1)
            else:
                item, at = self._plain(text, at), at + 1
            items.append(item)
        return items, at

    def _table(self, at: int, depth: int) -> tuple[Value, int]:
        indent = self._lines[at].indent
        table: dict[str, Value] = {}
        while at < len(self._lines) and self._lines[at].indent == indent:
            entry = _ENTRY.fullmatch(self._lines[at].text)
            if entry is None:
                if self._is_item(at, indent):
                    break
                raise self.refusal(at)
            key, text = self._plain(entry[1], at), (entry[2] or "").strip()
            if _BLOCK.fullmatch(text):
                table[key], at = "", self._after(at + 1, indent)
            elif text:
                table[key], at = self._plain(text, at), at + 1
            elif self._has_inner(at + 1, indent):
                table[key], at = self.value(at + 1, depth + 1)
            else:
                table[key], at = "", at + 1
        if at < len(self._lines) and self._lines[at].indent > indent:
            raise self.refusal(at)
        return table, at

    def _is_item(self, at: int, indent: int) -> bool:
        line = self._lines[at]
        return line.indent == indent and (line.text == "-" or line.text.startswith("- "))

    def _has_inner(self, at: int, indent: int) -> bool:
        if at >= len(self._lines):
            return False
        return self._lines[at].indent > indent or self._is_item(at, indent)

    def _after(self, at: int, indent: int) -> int:
        while at < len(self._lines) and self._lines[at].indent > indent:
            at += 1
        return at

    def _plain(self, text: str, at: int) -> str:
        if text.startswith('"'):
            return self._quoted(text, at)
        if text.startswith("'"):
            return text[1:-1].replace("''", "'")
        if text.startswith(("&", "*", "!", "{", "%", "@", "`")):
            raise self.refusal(at)
        return text

    def _quoted(self, text: str, at: int) -> str:
        try:
            return str(json.loads(text))
        except ValueError:
            inner = text[1:-1]
        if not _BYTE.search(inner):
            # A network's name with a backslash is written as it is
            return inner.replace('\\"', '"')
        # Since version 2.0.10 each byte that is no ASCII is written as a number
        octets = _ESCAPE.sub(_octet, inner.encode())
        try:
            return octets.decode("utf-8")
        except UnicodeDecodeError as err:
            raise ConfigRefused(
                f"{self._name}: line {self._lines[at].number}: a name that is not UTF-8 cannot be "
                "used; give it another one"
            ) from err


def _octet(escape: re.Match[bytes]) -> bytes:
    """Return the byte that an escape stands for."""
    hexadecimal, letter = escape.groups()
    return bytes.fromhex(hexadecimal.decode()) if hexadecimal else _LETTERS.get(letter, letter)


FIRST_RUN, CUSTOM_TOML, PRESEED, USER_DATA, NETWORK, META_DATA = card.IMAGER_FILES
_SETTINGS_PROGRAM = "/usr/lib/raspberrypi-sys-mods/imager_custom"
_TRUE = frozenset({"true", "yes", "on"})


def read_imager_files(files: Iterable[Path]) -> Table:
    """Return the machine settings in the files; a later file wins.

    Raises:
        ConfigRefused: one line for each thing that is wrong.
    """
    table: Table = {}
    problems = []
    for path in files:
        try:
            told = _READERS[path.name](card.decoded(card.read(path), path.name))
            checked = {name: told[name] for name in MACHINE_TABLES if told.get(name)}
            _lower_hostname(checked)
            decode(dumps(checked), MachineSettings, Path(path.name))
        except ConfigRefused as err:
            problems.append(str(err))
        else:
            table |= checked
    if problems:
        raise ConfigRefused("\n".join(problems))
    return table


def _from_user_data(text: str) -> Table:
    told = parse(text, USER_DATA)
    users = told.get("users")
    # Since version 2.0.9 there is one user, whom the system has already
    every = (*(users if isinstance(users, list) else ()), told.get("user"), told)
    found = [
        key
        for one in every
        if isinstance(one, dict)
        for key in _list(one.get("ssh_authorized_keys"))
    ]
    device = _said(hostname=told.get("hostname"), timezone=told.get("timezone"))
    device |= _said(locale=told.get("locale"))
    return {"device": device, "ssh": {"keys": found} if found else {}}


def _from_network(text: str) -> Table:
    told = parse(text, NETWORK)
    inner = told.get("network", told)
    radios = inner.get("wifis") if isinstance(inner, dict) else None
    for radio in radios.values() if isinstance(radios, dict) else ():
        points = radio.get("access-points") if isinstance(radio, dict) else None
        country = _said(country=radio.get("regulatory-domain")) if isinstance(radio, dict) else {}
        for ssid, point in points.items() if isinstance(points, dict) else ():
            more = point if isinstance(point, dict) else {}
            wifi: Table = {"ssid": ssid, "hidden": _is_true(more.get("hidden"))}
            return {"wifi": wifi | _said(password=more.get("password")) | country}
        if country:
            return {"wifi": country}
    return {}


def _from_toml(name: str, text: str) -> Table:
    try:
        told = tomllib.loads(text)
    except ValueError as err:
        raise ConfigRefused(f"{name}: {err}") from err
    system, ssh, wlan, locale = (
        part if isinstance(part := told.get(name), dict) else {}
        for name in ("system", "ssh", "wlan", "locale")
    )
    if wlan.get("ssid_hex"):
        # Written for a name that no TOML can hold
        raise ConfigRefused(
            f"{name}: wlan.ssid_hex: a name that is not UTF-8 cannot be used; give it another one"
        )
    wifi: Table = _said(country=wlan.get("country"))
    if wlan.get("ssid"):
        wifi |= {"ssid": wlan["ssid"], "hidden": wlan.get("hidden", False)}
        wifi |= _said(password=wlan.get("password"))
    return {
        "device": _said(hostname=system.get("hostname"), timezone=locale.get("timezone")),
        "ssh": _said(keys=ssh.get("authorized_keys")),
        "wifi": wifi,
    }


def _from_first_run(text: str) -> Table:
    device: Table = {}
    wifi: Table = {}
    keys: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip().startswith(_SETTINGS_PROGRAM):
            continue
        try:
            _, action, *words = shlex.split(line)
        except ValueError as err:
            raise ConfigRefused(f"{FIRST_RUN}: line {number}: cannot read it") from err
        if action == "set_hostname":
            device |= _said(hostname="".join(words[:1]))
        elif action == "set_timezone":
            device |= _said(timezone="".join(words[:1]))
        elif action == "enable_ssh":
            keys = [word for word in words if word != "-k"]
        elif action == "set_wlan":
            wifi |= _wlan(words)
        elif action == "set_wlan_country":
            wifi |= _said(country="".join(words[:1]))
    return {"device": device, "wifi": wifi, "ssh": {"keys": keys} if keys else {}}


def _wlan(words: list[str]) -> Table:
    hidden = "-h" in words[:1]
    ssid, password, country, *_ = [*words[hidden:], "", "", ""]
    return {"ssid": ssid, "hidden": hidden} | _said(password=password, country=country)


def _lower_hostname(table: Table) -> None:
    """Imager lets it be written large."""
    device = table.get("device")
    if isinstance(device, dict) and isinstance(device.get("hostname"), str):
        device["hostname"] = device["hostname"].lower()


def _said(**values: object) -> Table:
    return {name: value for name, value in values.items() if value}


def _list(value: Value | None) -> list[str]:
    if isinstance(value, list):
        return [item for item in value if isinstance(item, str)]
    return [value] if isinstance(value, str) and value else []


def _is_true(value: Value | None) -> bool:
    return isinstance(value, str) and value.lower() in _TRUE


def _from_meta_data(_text: str) -> Table:
    """It names an instance of a cloud, which this is none of."""
    return {}


_READERS: Mapping[str, Callable[[str], Table]] = {
    FIRST_RUN: _from_first_run,
    CUSTOM_TOML: partial(_from_toml, CUSTOM_TOML),
    PRESEED: partial(_from_toml, PRESEED),
    USER_DATA: _from_user_data,
    NETWORK: _from_network,
    META_DATA: _from_meta_data,
}
