"""Tools of a request as words: the senses of their names, descriptions and choices.

Whatever a schema holds, a profile comes of it; a tool whose arguments cannot be filled from
speech is simply never complete.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from agent.messages import Effect, ToolSpec
from agent.providers.offline.clauses import clauses_of
from agent.providers.offline.language import detect
from agent.providers.offline.lexicon import LANGUAGES, every_form, variants
from agent.providers.offline.measures import MeasureUnit, unit_told
from agent.providers.offline.names import (
    GROUP,
    NO_FACTS,
    NO_LIGHT,
    NO_NAMES,
    PLACE,
    THING,
    Facts,
    Names,
    facts_in,
)
from agent.providers.offline.pieces import Piece, analyse
from agent.providers.offline.senses import actions, kinds, lights, things, values
from agent.providers.offline.units import UnitKind, split, tidy

# A single word may be said of anything
_NAME_WORDS = 2
# Descriptions say what they say at the beginning
_ABOUT_CHARS = 600
# Tools change with the hardware: a few sets of them are remembered
_REMEMBERED_PROFILES = 256
_NUMBER_BORDER = re.compile(r"(?<=[a-z]{2})(?=[0-9])")
_WORD_BORDER = re.compile(r"(?<=[a-z])(?=[A-Z])|[_\-./]+")

MEMORY_STORE = "memory_store"
MEMORY_RECALL = "memory_recall"
MEMORY_FORGET = "memory_forget"
MEMORY_LIST = "memory_list"
MEMORY_SOURCE = "memory_source"
DATASHEET_SEARCH = "datasheet_search"
_MEMORY = frozenset(
    {
        *(MEMORY_STORE, MEMORY_RECALL, MEMORY_FORGET, MEMORY_LIST, MEMORY_SOURCE),
        DATASHEET_SEARCH,
    }
)
# What they are about is read by ways of their own
_TIMED = frozenset({"timer_start", "timer_change", "timer_cancel", "timer_list", "reminder_set"})
_WATCHES = ("watch_add", "watch_list", "watch_remove")
# A rule is named in a sentence of its own, or made by a model
_REFLEXES = ("reflex_add", "reflex_delete", "reflex_pause")
_APART = _WATCHES + _REFLEXES
# Their arguments take a language model: words alone would fill them with anything
_FOR_MODELS = frozenset(
    {
        *("content_search", "file_edit", "git", "glob_search", "shell"),
        *("http_request", "web_fetch", "web_search"),
        *("browser_open", "browser_read", "browser_click", "browser_type"),
        *("browser_screenshot", "browser_close"),
        *("camera_capture", "image_info", "screenshot", "skill_view", "skills_list"),
        *("ask_user", "delegate", "i2c_read", "i2c_write", "memory_export", "send_message"),
    }
)


class Name(Struct, frozen=True):
    """Name of something: its senses, and its spelling."""

    senses: frozenset[str]
    spelling: str


class Choice(Struct, frozen=True):
    """Value of an enumeration, its own name, and its other names."""

    value: Any
    text: str
    name: Name
    aliases: tuple[Name, ...] = ()
    facts: Facts = NO_FACTS

    @property
    def shown(self) -> str:
        """Return its name in an answer: the owner's word if its own name is a number."""
        numbered = any(char.isdigit() for char in self.text)
        return self.facts.aliases[0] if numbered and self.facts.aliases else self.text

    @property
    def mark(self) -> str:
        """Return the sense that its own names have in a sentence."""
        return f"{THING}{self.text}"

    @property
    def senses(self) -> frozenset[str]:
        """Return the senses of all its names."""
        own = self.name.senses | {self.mark}
        return own.union(*(alias.senses for alias in self.aliases))


class Parameter(Struct, frozen=True):
    """Argument, as far as its schema tells it."""

    name: str
    kind: str
    required: bool
    choices: tuple[Choice, ...]
    minimum: float | None
    maximum: float | None
    shortest: int = 0
    longest: int | None = None
    unit: MeasureUnit | None = None
    # The number that leaves it as it is, where the tool says that there is one
    kept_by: int | float | None = None

    @property
    def needed(self) -> bool:
        """Return true if it has to be said."""
        return self.required and self.kept_by is None

    def takes(self, text: str) -> bool:
        """Return true if a text is neither too short nor too long for it."""
        return self.shortest <= len(text) <= (len(text) if self.longest is None else self.longest)

    @property
    def switches(self) -> bool:
        """Return true if it takes on and off, or the like."""
        named = {sense for choice in self.choices for sense in choice.name.senses}
        return self.kind == "boolean" or (len(self.choices) > 1 and named <= values())


class Profile(Struct, frozen=True):
    """Tool as words."""

    spec: ToolSpec
    words: frozenset[str]
    about: frozenset[str]
    parameters: tuple[Parameter, ...]
    # What its things are called, and the senses of those names
    names: Mapping[tuple[str, ...], frozenset[str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def acts(self) -> bool:
        """Return true if it changes something: it is used only when the order is clear."""
        return self.spec.effect is not Effect.READ

    @property
    def device(self) -> Parameter | None:
        """Return the argument for its device: the first enumeration that is no switch."""
        return next((one for one in self.parameters if one.choices and not one.switches), None)

    @property
    def switch(self) -> Parameter | None:
        return next((one for one in self.parameters if one.switches), None)

    @property
    def things(self) -> frozenset[str]:
        return things(self.words)


class Toolbox(Struct, frozen=True):
    """Tools of a request; memory and watches are kept apart from the speakable ones."""

    profiles: tuple[Profile, ...]
    # Tools that are found by their words
    speakable: tuple[Profile, ...]
    names: Names = NO_NAMES

    def find(self, name: str) -> Profile | None:
        return next((profile for profile in self.profiles if profile.name == name), None)

    def share(self, sense: str) -> int:
        """Return the number of tools that have a sense in their names."""
        return sum(sense in profile.words for profile in self.speakable)

    def switched(self) -> frozenset[str]:
        """Return the texts of everything that some tool turns on and off."""
        return frozenset(
            choice.text
            for profile in self.speakable
            if profile.acts and profile.switch and profile.device
            for choice in profile.device.choices
        )


def toolbox(specs: Sequence[ToolSpec]) -> Toolbox:
    profiles = tuple(_profile(_Key(spec)) for spec in specs)
    speakable = tuple(one for one in profiles if not _is_apart(one.name))
    return Toolbox(profiles, speakable, _all_names(speakable))


def _all_names(profiles: Sequence[Profile]) -> Names:
    senses: dict[tuple[str, ...], frozenset[str]] = {}
    for profile in profiles:
        for texts, own in profile.names.items():
            senses[texts] = senses.get(texts, frozenset()) | own
    return Names({texts: sorted(found) for texts, found in senses.items()})


def _is_apart(name: str) -> bool:
    # What somebody else calls a tool says nothing about our words
    is_foreign = name.startswith("mcp_")
    return is_foreign or name in _MEMORY | _FOR_MODELS | _TIMED or name.endswith(_APART)


def words_of(text: str) -> frozenset[str]:
    """Return the senses of a name or a description, in whatever language it is."""
    spaced = _WORD_BORDER.sub(" ", text)
    code = detect(spaced)
    clauses = clauses_of(analyse(spaced, code))
    found = [clause.things | clause.actions | clause.values for clause in clauses]
    return frozenset().union(*found)


def spelling_of(name: str) -> str:
    """Return a name as it is found in `Clause.spelling`."""
    spaced = _WORD_BORDER.sub(" ", name)
    return f" {' '.join(unit.text for unit in split(tidy(spaced), variants()))} "


class _Key(Struct, frozen=True):
    """Key for a spec whose schema cannot be hashed: the same words give the same profile."""

    spec: ToolSpec

    def __hash__(self) -> int:
        return hash((self.spec.name, self.spec.description))


@lru_cache(_REMEMBERED_PROFILES)
def _profile(key: _Key) -> Profile:
    spec = key.spec
    properties = _table(spec.parameters.get("properties"))
    required = spec.parameters.get("required")
    needed = frozenset(map(str, required)) if isinstance(required, (list, tuple)) else frozenset()
    parameters = tuple(
        _parameter(name, _table(schema), spec.description, required=name in needed)
        for name, schema in properties.items()
    )
    device = next((one for one in parameters if one.choices and not one.switches), None)
    if device is not None:
        called = _called(device)
        parameters = tuple(called if one is device else one for one in parameters)
    return Profile(
        spec=spec,
        words=words_of(spec.name),
        about=words_of(spec.description[:_ABOUT_CHARS]),
        parameters=parameters,
        names={} if device is None or _is_apart(spec.name) else _names_of(device.choices),
    )


def _called(device: Parameter) -> Parameter:
    """Remove words for deeds from the names of a device: lock, stop, run."""
    choices = tuple(
        replace(one, name=_of_thing(one.name), aliases=tuple(map(_of_thing, one.aliases)))
        for one in device.choices
    )
    return replace(device, choices=choices)


def _of_thing(name: Name) -> Name:
    said = name.senses - values() - actions()
    return name if said else Name(frozenset({f"~{name.spelling.strip()}"}), name.spelling)


def _names_of(choices: Sequence[Choice]) -> dict[tuple[str, ...], frozenset[str]]:
    """Return all names of these things, their places and their groups."""
    found: dict[tuple[str, ...], frozenset[str]] = {}
    for choice in choices:
        facts = choice.facts
        called: list[tuple[str, set[str]]]
        called = [(name, {choice.mark}) for name in (choice.text, *facts.aliases)]
        called += [(name, {choice.mark, GROUP}) for name in facts.groups]
        called += [(name, {f"{PLACE}{name}"}) for name in facts.places]
        for name, senses in called:
            spelled = spelling_of(name).split()
            other = frozenset() if lights_only(name) else {NO_LIGHT}
            for texts in _spellings(spelled) if not _is_grammar(name) else ():
                found[texts] = found.get(texts, frozenset()) | senses | other
    return found


def _spellings(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """Return a name as it is written, and with its number apart: heater1, heater 1."""
    apart = [part for text in texts for part in _NUMBER_BORDER.split(text)]
    return list(dict.fromkeys(one for one in (tuple(texts), tuple(apart)) if one))


def lights_only(name: str) -> bool:
    """Return true if nothing in a name says that it is something else than a light."""
    last = spelling_of(name).split()[-1:]
    joined = "".join(spelling_of(name).split())
    ends = any(joined.endswith(form) or "".join(last).endswith(form) for form in _other_kinds())
    return not ends and not words_of(name) & kinds()


@cache
def _other_kinds() -> tuple[str, ...]:
    """Return the words, in every language, for things that are no light."""
    return tuple(
        "".join(form.units)
        for code in LANGUAGES
        for form in every_form(code)
        if kinds().intersection(form.senses) and len("".join(form.units)) > 1
    )


def bare_light(pieces: Sequence[Piece], choices: Sequence[Choice]) -> Choice | None:
    """Return the light whose name, of two words or more, is the whole message: turn it on."""
    spoken = [piece for piece in pieces if piece.kind is not UnitKind.MARK]
    if len(spoken) != 1 or spoken[0].width < _NAME_WORDS or len(spoken[0].senses) != 1:
        return None
    named = [one for one in choices if one.mark in spoken[0].senses]
    is_light = bool(words_of(spoken[0].text) & lights())
    return named[0] if len(named) == 1 and is_light else None


def _is_grammar(name: str) -> bool:
    """Return true if a name holds only verbs and values, such as an output called "on"."""
    pieces = analyse(_WORD_BORDER.sub(" ", name), "en").pieces
    return all(piece.senses and not things(piece.senses) for piece in pieces)


def _parameter(
    name: str, schema: Mapping[str, Any], tool_about: str, *, required: bool
) -> Parameter:
    options = schema.get("enum")
    kind = schema.get("type")
    longest = _number(schema.get("maxLength"))
    described = str(schema.get("description", ""))
    about = described[:_ABOUT_CHARS]
    return Parameter(
        name=name,
        kind=kind if isinstance(kind, str) else "",
        required=required,
        choices=_choices(options, described) if isinstance(options, (list, tuple)) else (),
        minimum=_number(schema.get("minimum")),
        maximum=_number(schema.get("maximum")),
        shortest=int(_number(schema.get("minLength")) or 0),
        longest=None if longest is None else int(longest),
        unit=unit_told(name, about),
        kept_by=_kept_by(name, tool_about[:_ABOUT_CHARS]),
    )


def _kept_by(name: str, tool_about: str) -> int | None:
    """Return the value that changes nothing, as in: frequency 0 keeps the one it has."""
    told = re.search(rf"\b{re.escape(name)} (-?\d{{1,9}}) keeps\b", tool_about, re.IGNORECASE)
    return int(told[1]) if told else None


def _choices(options: Sequence[Any], description: str) -> tuple[Choice, ...]:
    texts = [(option, str(option)) for option in options if isinstance(option, (str, int, float))]
    told = facts_in(description)
    return tuple(
        Choice(option, text, name_of(text), tuple(map(name_of, facts.aliases)), facts)
        for option, text in texts
        for facts in [told.get(text, NO_FACTS)]
    )


def name_of(text: str) -> Name:
    """Return the name of a choice; words such as `open` are its state there, not a deed."""
    senses = words_of(text) or frozenset({f"~{text}"})
    return Name(senses - actions() or senses, spelling_of(text))


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


# Senses of acting: what a name says that a tool does
ORDERS = actions() - {"read", "list"}
