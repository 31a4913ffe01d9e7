"""Answers in one language: sentences, and its words for things, values and deeds."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from agent.providers.offline.lexicon import lexicon, traditional, variants
from agent.providers.offline.measures import TIME
from agent.providers.offline.plan import CallDraft, Need, Order, Reason, ReplyOption, SayStep
from agent.providers.offline.small_talk import answer_of
from agent.providers.offline.toolbox import Parameter, Profile, words_of
from agent.providers.offline.units import is_in

# More digits than a sensor has only look exact
_DIGITS = 4
# At the end of a tool's name they say what it does, not what with
_VERBS = frozenset({"set", "read", "write", "get"})
# Units of time, the longest first
_SPANS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
_SECOND_MS = 1000
# Questions that quote what somebody said
_OF_TEXTS = {Reason.FORGET_WHICH: "forget_which", Reason.WHICH_TEXT: "which"}
# Words of tools' names that say nothing to a person
_TECHNICAL = _VERBS | {"board", "gpio", "pwm", "adc", "mcu", "i2c", "uart"}
# A name longer than this is not a name
_NAME_CHARS = 60


class Voice(Struct, frozen=True):
    """Speaker of one language; Chinese also in traditional characters."""

    code: str
    traditional: bool = False

    @classmethod
    def for_text(cls, code: str, text: str) -> "Voice":
        """Return the voice that answers a text of this language."""
        return cls(code, code == "zh" and any(map(_is_traditional, text)))

    def say(self, key: str, **slots: str) -> str:
        sentences = self._table("say")
        # What is said of times stands beside the words of times
        own = sentences if key in sentences else self._table("timing")["say"]
        return self._write(own[key], slots)

    def span(self, seconds: float) -> str:
        """Return a duration in the units that tell it."""
        units: Mapping[str, str] = self._table("timing")["span"]
        rest = max(0, round(seconds))
        told = []
        for unit, unit_s in _SPANS:
            number, rest = divmod(rest, unit_s)
            if number:
                told.append(self.written(units[unit].format(number)))
        return self.joined(told) or self.written(units["s"].format(0))

    def written(self, text: str) -> str:
        """Return a text of the vocabulary in this voice's characters."""
        return self._write(text.replace("{", "{{").replace("}", "}}"), {})

    def sentence(self, said: SayStep) -> str:
        if said.key == "phrase_gone":
            return self.say(said.key, thing=self.thing(said.slots["thing"]))
        return self.say(said.key, **said.slots)

    def manners(self, key: str, called: str) -> str:
        """Return the answer to small talk."""
        return self._write(answer_of(key, self.code), {"name": called})

    def listing(self, items: Sequence[str], last: str) -> str:
        """Join items with commas, and with `last` (`or`, `and`) before the last of them."""
        if len(items) < 2:  # noqa: PLR2004 - one item needs no comma
            return "".join(items)
        return self.say("comma").join(items[:-1]) + self.say(last) + items[-1]

    def joined(self, sentences: Sequence[str]) -> str:
        """Join sentences, spaced as in the language."""
        spaced = lexicon(self.code).wording["spaced"]
        return (" " if spaced else "").join(sentence for sentence in sentences if sentence)

    def quoted(self, text: str) -> str:
        return self.say("quote", text=text)

    def number(self, value: float) -> str:
        """Return as many digits as mean something, with the language's own decimal sign."""
        if isinstance(value, int) or not math.isfinite(value):
            return str(value)
        shown = f"{value:.{_DIGITS}f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.0f}"
        return shown.replace(".", lexicon(self.code).wording["decimal"])

    def thing(self, name: str) -> str:
        """Return a thing's name in a sentence; an unknown name stays as it is."""
        labels = self._table("labels")
        bare = name.replace("_", " ")[:_NAME_CHARS]
        label = self._label(name)
        if label is not None:
            return self._write(label, {})
        if any(char.isdigit() for char in name):
            return bare
        return self._write(labels["{}"].replace("{}", "{name}"), {"name": bare})

    def value(self, value: object, thing: str = "") -> str:
        """Return the word for a value of a thing."""
        if isinstance(value, bool):
            value = "on" if value else "off"
        if isinstance(value, (int, float)):
            return self.number(value)
        forms = self._table("values").get(str(value))
        if isinstance(forms, list):
            feminine = thing.startswith(lexicon(self.code).wording["feminine"])
            forms = forms[feminine]
        return self._write(forms, {}) if forms else str(value)

    def person(self, entry: Mapping[str, Any]) -> str:
        """Return the source of a memory; the tool's own words for an unknown trust."""
        told = self._table("people").get(str(entry.get("provenance", "")))
        return self._write(told, {}) if told else str(entry.get("said_by", "?"))

    def weekday(self, english: str) -> str:
        return self._write(self._table("weekdays").get(english, english), {})

    def deed(self, order: Order, profile: Profile | None) -> str:
        """Return what an order does, as it follows "I could not"."""
        lasts = order.arguments.get("for_seconds")
        if not isinstance(lasts, (int, float)) or not lasts:
            return self._deed_at_once(order, profile)
        given = {name: one for name, one in order.arguments.items() if name != "for_seconds"}
        deed = self._deed_at_once(Order(order.tool, given), profile)
        return self.say("deed_for", deed=deed, span=self.span(float(lasts)))

    def _deed_at_once(self, order: Order, profile: Profile | None) -> str:
        if order.tool in self._table("deeds"):
            return self.deed_by(order.tool)
        thing = self._as_object(self._subject(order, profile))
        if profile is None:
            return self.deed_by("use", tool=thing)
        wanted = _wanted(order, profile)
        if wanted is not None:
            key = wanted if wanted in {"on", "off"} else "other"
            return self.deed_by(str(key), thing=thing, value=self.value(wanted, thing))
        return self._deed_with(_given(order, profile), order, profile, thing)

    def _deed_with(
        self, given: Sequence[Parameter], order: Order, profile: Profile, thing: str
    ) -> str:
        if profile.acts and len(given) == 1 and _lasts(given[0]):
            return self.deed_by("on_for", thing=thing, value=self.argument(order, given[0]))
        if profile.acts and given:
            values = [self.argument(order, one, named=len(given) > 1) for one in given]
            return self.deed_by("other", thing=thing, value=self.listing(values, "and"))
        return self.deed_by("use" if profile.acts else "read", thing=thing, tool=thing)

    def _subject(self, order: Order, profile: Profile | None) -> str:
        """Return what an order is about; a tool's technical words are left out."""
        name, device = subject(order, profile), None if profile is None else profile.device
        is_chosen = device is not None and device.name in order.arguments
        if is_chosen or name in order.arguments.values() or self._label(name) is not None:
            return self.thing(name)
        words = [word for word in order.tool.split("_") if word not in _TECHNICAL]
        return " ".join(words) or self.parameter(name)

    def argument(self, order: Order, parameter: Parameter, *, named: bool = False) -> str:
        """Return a value of an order with its unit, and its parameter."""
        value = order.arguments[parameter.name]
        symbol = parameter.unit.symbol if parameter.unit else ""
        if symbol == "ms" and isinstance(value, (int, float)) and value >= _SECOND_MS:
            value, symbol = value / _SECOND_MS, "s"
        shown = f"{self.value(value)} {symbol}".strip()
        return f"{self.parameter(parameter.name)} {shown}" if named else shown

    def parameter(self, name: str) -> str:
        """Return an argument's name in a sentence."""
        names = self._table("parameters")
        return self._write(names.get(name.casefold(), names["{}"]), {})

    def deed_by(self, key: str, **slots: str) -> str:
        return self._write(self._table("deeds")[key], slots)

    def reason(self, english: str) -> str:
        """Return the reason of a failure; known reasons are translated."""
        for known, own in self._table("reasons").items():
            if english.startswith(known):
                return self._write(own, {}) + english[len(known) :]
        return english

    def ability(self, key: str) -> str:
        """Return an ability in a few words."""
        return self._write(self._table("abilities")[key]["line"], {})

    def examples(self, key: str) -> list[str]:
        """Return sentences of an ability, with their slots still open."""
        templates: list[str] = self._table("abilities")[key]["say"]
        return [one.translate(traditional()) if self.traditional else one for one in templates]

    def fill(self, template: str, **slots: str) -> str:
        return template.format_map(slots)

    def label(self, name: str) -> str:
        """Return a thing's name after a verb; empty if the language has no word for it."""
        label = self._label(name)
        return "" if label is None else self._as_object(self._write(label, {}))

    def question(self, need: Need) -> str:
        """Return a need as a question, with what must be said before it."""
        if need.preface is None:
            return self._question(need)
        key, slot = need.preface
        return self.joined([self.say(key, thing=slot), self._question(need)])

    def _question(self, need: Need) -> str:
        if need.reason in {Reason.CONFIRM, Reason.PHRASE}:
            deeds = [self._deed_of(draft) for option in need.options for draft in option.drafts]
            return self.say(need.reason.value, deed=self.listing(deeds, "and"))
        if need.reason is Reason.FORGET_THIS:
            return self.say("forget_this", memory=self.quoted(need.options[0].choice.text))
        if need.reason in _OF_TEXTS:
            texts = [self.quoted(option.choice.text) for option in need.options]
            return self.say(_OF_TEXTS[need.reason], choices=self.listing(texts, "or"))
        if need.reason is Reason.FILL:
            return self._fill_question(need)
        names = [self._option(option) for option in need.options]
        return self.say(need.reason.value, choices=self.listing(names, "or"))

    def _fill_question(self, need: Need) -> str:
        parameter = need.parameter
        name = self.quoted(self.parameter(parameter.name)) if parameter else ""
        if parameter is None or parameter.minimum is None or parameter.maximum is None:
            return self.say("fill", name=name)
        low, high = self.number(parameter.minimum), self.number(parameter.maximum)
        return self.say("fill_range", name=name, low=low, high=high)

    def _option(self, option: ReplyOption) -> str:
        text = option.choice.text
        if not text:
            return self._deed_of(option.drafts[0])
        text = option.choice.shown
        return self.value(text) if text in self._table("values") else self.thing(text)

    def _deed_of(self, draft: CallDraft) -> str:
        return self.deed(Order(draft.profile.name, draft.arguments), draft.profile)

    def _label(self, name: str) -> str | None:
        labels = self._table("labels")
        found: str | None = labels.get(name)
        # バルブ1 is more than a valve
        senses = () if any(char.isdigit() for char in name) else words_of(name)
        return found or (labels.get(min(senses)) if len(senses) == 1 else None)

    def _as_object(self, thing: str) -> str:
        """Return a name as it stands after a verb: den Motor, not der Motor."""
        for article, instead in lexicon(self.code).wording["objects"].items():
            if thing.startswith(article):
                return f"{instead}{thing.removeprefix(article)}"
        return thing

    def _table(self, name: str) -> Mapping[str, Any]:
        table: Mapping[str, Any] = lexicon(self.code).wording[name]
        return table

    def _write(self, template: str, slots: Mapping[str, str]) -> str:
        if self.traditional:
            template = template.translate(traditional())
        capitals = {key.capitalize(): value[:1].upper() + value[1:] for key, value in slots.items()}
        return template.format_map({**capitals, **slots}) if "{" in template else template


def _is_traditional(char: str) -> bool:
    """Return true if Taiwan and Hong Kong write the text so, but not in simplified characters."""
    return char in variants() or (is_in(char, "big5hkscs") and not is_in(char, "gb2312"))


def subject(order: Order, profile: Profile | None) -> str:
    """Return what an order is about: the device chosen, else the last thing in its name."""
    if profile is not None and profile.device is not None:
        chosen = order.arguments.get(profile.device.name)
        known = next((one for one in profile.device.choices if one.value == chosen), None)
        if known is not None:
            return known.shown
        if isinstance(chosen, str):
            return chosen
    words = order.tool.split("_")
    return next((word for word in reversed(words) if word not in _VERBS), words[-1])


def _given(order: Order, profile: Profile) -> list[Parameter]:
    """Return the arguments that say how much or what, without the thing and unchanged ones."""
    return [
        one
        for one in profile.parameters
        if one.name in order.arguments
        and one is not profile.device
        and (one.kept_by is None or order.arguments[one.name] != one.kept_by)
    ]


def _lasts(parameter: Parameter) -> bool:
    return parameter.unit is not None and parameter.unit.kind == TIME


def _wanted(order: Order, profile: Profile | None) -> object:
    switch = profile.switch if profile is not None else None
    return None if switch is None else order.arguments.get(switch.name)
