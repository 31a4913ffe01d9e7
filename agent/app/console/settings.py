"""Configuration for the owner's browser: its sections as forms, a change checked, shown and taken.

The console never sees the file. What was typed stays here until it is written or let go, so that no
page has to carry a secret.
"""

import asyncio
import logging
import os
import secrets
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from agent.access.people import Person
from agent.app.build import Agent
from agent.app.console.settings_field import FieldKind, FormField
from agent.app.console.settings_form import FormSection, names_below, section_at, sections
from agent.app.console.settings_hints import hint
from agent.app.console.settings_request import (
    ChangeVerdict,
    SettingsAnswer,
    SettingsProblem,
    SettingsRequest,
    hash_of,
)
from agent.config import Secret, decode
from agent.errors import BarnacleError, ConfigRefused, StorageFull
from agent.settings import Settings

if TYPE_CHECKING:
    from agent.security.audit_chain import Row

_log = logging.getLogger(__name__)

# Changes that were shown and not yet written: a person has one, perhaps in a few browsers
_MOST_PLANNED = 4
# Whoever looks longer at a diff checks it again; until then a typed secret is in memory
PLANNED_S = 900.0
# The keys of a form begin with it; what stands before is about the whole
VALUE = "v."
_UNREADABLE = "the configuration file cannot be read"

# Sends a request to the program that writes the file
AskProgram = Callable[[Path, SettingsRequest], Awaitable[SettingsAnswer]]


class _Planned(Struct, frozen=True):
    """A change that was shown to a browser."""

    browser: str
    request: SettingsRequest
    at_s: float


class SettingsViews:
    """The page of settings: what it shows, and what its forms do."""

    def __init__(self, agent: Agent, ask_program: AskProgram) -> None:
        self._agent = agent
        self._ask_program = ask_program
        self._one_at_a_time = asyncio.Lock()
        self._planned: dict[str, _Planned] = {}

    async def read(self, person: Person, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return the sections, and the form of the one that is asked for."""
        if (config := self._agent.paths.config) is None:
            return {"state": "no_file"}
        where = tuple(filter(None, arguments.get("section", "").split(".")))
        return await asyncio.to_thread(_shown, config, where)

    async def check(self, person: Person, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return what would become of a form; a change that can be written gets a number."""
        request = SettingsRequest(
            where=tuple(arguments.get("section", "").split(".")),
            seen=arguments.get("seen", ""),
            values={
                name.removeprefix(VALUE): value
                for name, value in arguments.items()
                if name.startswith(VALUE)
            },
            dropped=tuple(filter(None, arguments.get("dropped", "").split(","))),
            is_removed=arguments.get("is_removed") == "yes",
        )
        async with self._one_at_a_time:
            answer = await self._asked(request)
        told = self._told(answer)
        if answer.verdict is ChangeVerdict.PLANNED:
            told["change"] = self._keep(arguments["browser"], request)
        return told

    async def take(self, person: Person, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Write a change that was shown; it stays at hand while its word is missing."""
        number = arguments.get("change", "")
        self._let_go()
        planned = self._planned.get(number)
        if planned is None or planned.browser != arguments["browser"]:
            return self._told(SettingsAnswer(ChangeVerdict.CHANGED_MEANWHILE))
        final = msgspec.structs.replace(
            planned.request, is_final=True, confirmed=arguments.get("confirmed", "")
        )
        async with self._one_at_a_time:
            answer = await self._recorded(person, final)
        if answer.verdict is ChangeVerdict.CONFIRM:
            return {**self._told(answer), "change": number}
        self._planned.pop(number, None)
        return self._told(answer)

    async def _recorded(self, person: Person, request: SettingsRequest) -> SettingsAnswer:
        """Put the owner's word and what came of it into the audit log."""
        keys = [".".join((*request.where, key)) for key in (*request.values, *request.dropped)]
        about = ", ".join(keys) or ".".join(request.where)
        row = {"tool": "settings", "effect": "write", "person": person.name}
        try:
            said = {"kind": "decision", "verdict": "allow", "rule": "owner's console"}
            await self._agent.records.note({**said, **row, "arguments": about})
        except StorageFull as err:
            return _refused(str(err))
        answer = await self._asked(request)
        is_taken = answer.verdict is ChangeVerdict.TAKEN
        result = about if is_taken else answer.verdict.value
        try:
            ended: Row = {"kind": "effect", "ok": is_taken, "result": result}
            await self._agent.records.note({**ended, **row})
        except StorageFull as err:
            _log.error("audit: result not recorded (tool=settings, error=%s)", err)
        if is_taken:
            _log.warning(
                "settings: changed from a browser (person=%s, keys=%s)", person.name, about
            )
        return answer

    async def _asked(self, request: SettingsRequest) -> SettingsAnswer:
        config = self._agent.paths.config
        if config is None:
            return _refused(_UNREADABLE)
        self._hide(request)
        try:
            return await self._ask_program(config, request)
        except BarnacleError as err:
            return _refused(str(err))

    def _hide(self, request: SettingsRequest) -> None:
        """Keep what was typed as a secret out of the log, whatever becomes of it."""
        section = section_at(request.where)
        for field in section.fields() if section is not None else ():
            typed = request.values.get(field.name, "")
            for line in typed.splitlines() if field.is_secret else ():
                # Of a pair the value alone
                is_pair = field.kind is FieldKind.HIDDEN_PAIRS
                text = line.partition("=")[2] if is_pair else line
                if (text := text.strip()).isprintable() and text:
                    self._agent.redactor.add(Secret(text))

    def _told(self, answer: SettingsAnswer) -> dict[str, Any]:
        """Return the answer for a page: a key that was pasted into the wrong place is hidden."""
        told: dict[str, Any] = msgspec.to_builtins(answer)
        return {**told, "diff": [self._agent.redactor.redact(line) for line in answer.diff]}

    def _keep(self, browser: str, request: SettingsRequest) -> str:
        number = secrets.token_urlsafe(16)
        self._planned[number] = _Planned(browser, request, self._agent.clock.monotonic_s())
        self._let_go()
        return number

    def _let_go(self) -> None:
        """Forget changes that nobody has taken for long, and the oldest of too many."""
        now_s = self._agent.clock.monotonic_s()
        for number, planned in list(self._planned.items()):
            is_old = now_s - planned.at_s > PLANNED_S
            if is_old or len(self._planned) > _MOST_PLANNED:
                del self._planned[number]


def _shown(config: Path, where: tuple[str, ...]) -> dict[str, Any]:
    try:
        content = config.read_bytes()
        text = content.decode("utf-8-sig")
        settings = decode(text, Settings, config)
    except (OSError, UnicodeDecodeError, ConfigRefused) as err:
        return {"state": "broken", "why": str(err)}
    table = tomllib.loads(text)
    may_write = os.access(config.parent, os.W_OK)
    told: dict[str, Any] = {
        "state": "ready" if may_write else "not_ours",
        "path": str(config),
        "seen": hash_of(content),
        "name": settings.agent.name,
        "sections": [
            {"where": ".".join(one.where), "is_set": one.is_set} for one in sections(table)
        ],
        "takes_names": list(names_below(Settings)),
    }
    section = section_at(where)
    if section is not None:
        told["section"] = _form(section, _held(table, where))
    return told


def _held(table: Mapping[str, Any], where: tuple[str, ...]) -> Mapping[str, Any] | None:
    held: Any = table
    for step in where:
        held = held.get(step) if isinstance(held, Mapping) else None
    return held if isinstance(held, Mapping) else None


def _form(section: FormSection, held: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "where": ".".join(section.where),
        "is_set": held is not None,
        "is_optional": section.is_optional,
        "takes_names": list(section.takes_names),
        "fields": [
            _input(field, hint(section, field.name), (held or {}).get(field.name))
            for field in section.fields()
        ],
    }


def _input(field: FormField, about: str, value: object) -> dict[str, Any]:
    shown = field.shown(value)
    return {
        "name": field.name,
        "kind": field.kind.value,
        "choices": list(field.choices),
        "wanted": field.wanted,
        "usual": field.usual,
        "about": about,
        "is_set": value is not None,
        "value": shown,
    }


def _refused(text: str) -> SettingsAnswer:
    return SettingsAnswer(ChangeVerdict.REFUSED, (SettingsProblem("", text),))
