"""Change of one section of the configuration: checked as the file is, shown as a diff, written.

A program of its own, so that the agent never loads what a check needs: one request comes on
standard input, one answer goes to standard output.
"""

import copy
import difflib
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from agent.app.console.settings_field import FormField
from agent.app.console.settings_form import FormSection, section_at
from agent.app.console.settings_openings import openings
from agent.app.console.settings_request import (
    MAX_BYTES,
    ChangeVerdict,
    SettingsAnswer,
    SettingsErrand,
    SettingsProblem,
    SettingsRequest,
    hash_of,
)
from agent.config import Where, decode
from agent.errors import BarnacleError, ConfigRefused
from agent.provision.credentials import CREDENTIALS
from agent.provision.secret_values import STAR, found
from agent.provision.secret_wipe import wiped
from agent.provision.settings_plan import Plan, ProvisionPaths, planned, take, text_with
from agent.provision.toml_text import Table
from agent.settings import Settings
from agent.text.config_hints import key_path

# As many stars as a secret has letters would say how long it is
_STARS = re.compile(r"\*{3,}")
_HIDDEN = STAR * 3
# A key that a sentence begins with, in quotes or not
_KEY = re.compile(r"`(?P<quoted>[^`]+)`: (?P<of_quoted>.*)|(?P<bare>[a-z0-9_.]+): (?P<of_bare>.*)")
_UNSHOWN = (
    "a secret stands in the file in a form that cannot be hidden here: change the file at the "
    "machine"
)


class _Wanted(Struct, frozen=True):
    """A change that was checked, before anything is written."""

    before: bytes
    after: str
    plan: Plan
    secrets: tuple[str, ...]


class SettingsChange:
    """Changes of the configuration whose places are known."""

    def __init__(self, places: ProvisionPaths) -> None:
        self._places = places
        self._config = places.config

    def answer(self, request: SettingsRequest) -> SettingsAnswer:
        """Check the change, and write it if it is final.

        Raises:
            StorageFull: it was not written.
        """
        before = self._config.read_bytes()
        if hash_of(before) != request.seen:
            return SettingsAnswer(ChangeVerdict.CHANGED_MEANWHILE)
        try:
            wanted = self._wanted(before, request)
            return self._judged(wanted, request)
        except ConfigRefused as err:
            problems = tuple(_problems(str(err), self._config.name, request.where))
            return SettingsAnswer(ChangeVerdict.REFUSED, problems)

    def _wanted(self, before: bytes, request: SettingsRequest) -> _Wanted:
        section = section_at(request.where)
        if section is None:
            raise ConfigRefused(f"{key_path(request.where)}: there is no such table")
        text = before.decode("utf-8-sig")
        decode(text, Settings, self._config)
        old = tomllib.loads(text)
        if request.is_removed and section.is_optional:
            plan = planned({}, self._config.name, self._places, request.where)
            return _Wanted(before, text_with(before, plan.agent), plan, ())
        table, secrets = _with_values(section, old, request)
        told = _told(old, request.where, table) if table or section.is_optional else {}
        self._star_credentials(told, request)
        plan = planned(told, self._config.name, self._places)
        return _Wanted(before, text_with(before, plan.agent), plan, secrets)

    def _judged(self, wanted: _Wanted, request: SettingsRequest) -> SettingsAnswer:
        text = wanted.before.decode("utf-8-sig")
        if text == wanted.after and not wanted.secrets:
            return SettingsAnswer(ChangeVerdict.UNCHANGED)
        old = decode(text, Settings, self._config)
        opened = openings(old, decode(wanted.after, Settings, self._config))
        told = (_diff(text, wanted.after), wanted.secrets, opened)
        if not request.is_final:
            return SettingsAnswer(ChangeVerdict.PLANNED, (), *told)
        if opened and request.confirmed.strip() != old.agent.name.strip():
            return SettingsAnswer(ChangeVerdict.CONFIRM, (), *told)
        if self._config.read_bytes() != wanted.before:
            return SettingsAnswer(ChangeVerdict.CHANGED_MEANWHILE)
        take(wanted.plan, self._places)
        return SettingsAnswer(ChangeVerdict.TAKEN, (), *told)

    def _star_credentials(self, told: Table, request: SettingsRequest) -> None:
        """Put stars where systemd gives a secret to the service: it is kept."""
        if self._places.credstore is None:
            return
        dropped = {(*request.where, key) for key in request.dropped}
        for place, name in CREDENTIALS.items():
            holder = found(told, place[:-1])
            is_open = isinstance(holder, dict) and place[-1] not in holder and place not in dropped
            if isinstance(holder, dict) and is_open and self._places.credstore.files(name):
                holder[str(place[-1])] = _HIDDEN


def _with_values(
    section: FormSection, old: Table, request: SettingsRequest
) -> tuple[Table, tuple[str, ...]]:
    """Return the section with what was typed, and the keys of the secrets that change."""
    held = found(old, request.where)
    table: dict[str, Any] = copy.deepcopy(held) if isinstance(held, dict) else {}
    changed = []
    for field in section.fields():
        typed = request.values.get(field.name)
        if typed is None and field.name not in request.dropped:
            continue
        value = field.read(typed or "")
        if field.is_secret:
            if not _is_secret_touched(field, value, request):
                continue
            changed.append(field.name)
        if value is None:
            table.pop(field.name, None)
        else:
            table[field.name] = value
    return table, tuple(changed)


def _is_secret_touched(field: FormField, value: object, request: SettingsRequest) -> bool:
    """Return true for a secret that was typed or is taken away: an empty field leaves it."""
    return value is not None or field.name in request.dropped


def _told(old: Table, where: Where, table: Table) -> Table:
    """Return what replaces tables of the file: a platform by itself, others with all below."""
    top, *below = where
    if top == "channels" and len(below) == 1:
        return {top: {below[0]: table}}
    if not below:
        return {top: table}
    held = old.get(top)
    whole: dict[str, Any] = copy.deepcopy(held) if isinstance(held, dict) else {}
    inner = whole
    for step in below[:-1]:
        inner = inner.setdefault(step, {})
    inner[below[-1]] = table
    return {top: whole}


def _problems(text: str, name: str, where: Where) -> Iterator[SettingsProblem]:
    """Yield each sentence with the key of the section that it is about."""
    for line in text.splitlines():
        said = line.removeprefix(f"{name}: ")
        if (about := _KEY.fullmatch(said)) is None:
            yield SettingsProblem("", said)
            continue
        key = (about["quoted"] or about["bare"]).split(".")
        rest = about["of_quoted"] or about["of_bare"]
        is_here = tuple(key[: len(where)]) == where and len(key) > len(where)
        if is_here:
            yield SettingsProblem(key[len(where)], rest)
        else:
            yield SettingsProblem(_named_first(rest, key, where), said)


def _named_first(rest: str, key: list[str], where: Where) -> str:
    """Return the key that a sentence about the whole section begins with: `token is missing`."""
    section = section_at(where)
    first = rest.partition(" ")[0]
    known = {field.name for field in section.fields()} if section is not None else set()
    return first if tuple(key) == where and first in known else ""


def _diff(before: str, after: str) -> tuple[str, ...]:
    """Return the lines that change, with two around each.

    Raises:
        ConfigRefused: a secret cannot be hidden.
    """
    try:
        old, new = (_STARS.sub(_HIDDEN, wiped(text, Settings)) for text in (before, after))
    except ValueError as err:
        raise ConfigRefused(_UNSHOWN) from err
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=2, lineterm="")
    return tuple(lines)[2:]


def main(words: Sequence[str]) -> int:
    """Answer the one request on standard input about the configuration that is named."""
    errand = msgspec.json.decode(sys.stdin.buffer.read(MAX_BYTES), type=SettingsErrand)
    places = ProvisionPaths(Path(words[0]), environ=errand.environ)
    try:
        answer = SettingsChange(places).answer(errand.request)
    except (BarnacleError, OSError) as err:
        answer = SettingsAnswer(ChangeVerdict.REFUSED, (SettingsProblem("", str(err)),))
    sys.stdout.buffer.write(msgspec.json.encode(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
