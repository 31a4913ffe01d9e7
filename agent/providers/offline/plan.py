"""What is to be done: orders that are complete, and what must be asked before others are.

A need knows its options; a later message may settle it. All of it is recomputed from the
conversation whenever it is needed, nothing is kept.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from agent.providers.offline.toolbox import Choice, Name, Parameter, Profile

# More calls than this out of one message are not what somebody meant
MAX_CALLS = 64
# More choices than this are not read out
MAX_OPTIONS = 12


@dataclass(frozen=True, slots=True)
class Order:
    """One call, complete."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Draft:
    """A call that may still lack arguments."""

    profile: Profile
    arguments: Mapping[str, Any]


class Reason(enum.Enum):
    """Why something is asked."""

    # Several readings are as good as each other
    MEAN = "mean"
    # A choice was not named
    WHICH = "which"
    # A number or a text was not said
    FILL = "fill"
    # It was understood, but not clearly enough to act on
    CONFIRM = "confirm"
    # A model did it for this sentence before
    PHRASE = "phrase"
    # One memory may be the one to forget
    FORGET_THIS = "forget_this"
    # Several memories may be
    FORGET_WHICH = "forget_which"


@dataclass(frozen=True, slots=True)
class Option:
    """One answer to a question: what names it, and what follows from it."""

    choice: Choice
    drafts: tuple[Draft, ...]


@dataclass(frozen=True, slots=True)
class Need:
    """Something that must be asked first.

    Args:
        parameter: what a `FILL` is about.
        preface: the name of a sentence that comes before the question, and its slot.
    """

    reason: Reason
    options: tuple[Option, ...]
    parameter: Parameter | None = None
    preface: tuple[str, str] | None = None


Item: TypeAlias = Order | Need


@dataclass(frozen=True, slots=True)
class Do:
    """Calls to make now; `earlier` where what was done in earlier turns decided about them."""

    orders: tuple[Order, ...]
    # What the calls are for, when their results are more than an answer
    purpose: str = ""
    earlier: bool = False
    # What is said after what came of them
    beside: "Say | None" = None


@dataclass(frozen=True, slots=True)
class Ask:
    """A question; the first need of the plan is what it is about."""

    plan: tuple[Item, ...]
    earlier: bool = False

    @property
    def need(self) -> Need:
        return next(item for item in self.plan if isinstance(item, Need))


@dataclass(frozen=True, slots=True)
class Say:
    """A sentence by its name, with its slots."""

    key: str
    slots: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tell:
    """What came of the calls of this turn is to be told."""


Step: TypeAlias = Do | Ask | Say | Tell


def settle(draft: Draft) -> Item:
    """The order, or the question for the first argument it lacks."""
    plain = _unsaid(draft.profile)
    for parameter in draft.profile.parameters:
        if parameter.needed and parameter.name not in {**plain, **draft.arguments}:
            return _question(draft, parameter)
    given = {**plain, **draft.arguments}
    names = [one.name for one in draft.profile.parameters if one.name in given]
    return Order(draft.profile.name, {name: given[name] for name in names})


def _unsaid(profile: Profile) -> dict[str, Any]:
    """Arguments that need no word: what keeps a thing as it is, the only thing to look at."""
    found: dict[str, Any] = {}
    for parameter in profile.parameters:
        if parameter.kept_by is not None:
            found[parameter.name] = parameter.kept_by
        elif parameter.required and len(parameter.choices) == 1 and not profile.acts:
            found[parameter.name] = parameter.choices[0].value
    return found


def settle_text(draft: Draft, name: str, text: str) -> Step:
    """The step once a text is given, or the plain word that it is too long for the tool."""
    parameter = next((one for one in draft.profile.parameters if one.name == name), None)
    if parameter is not None and parameter.longest is not None and len(text) > parameter.longest:
        return Say("too_long", {"limit": str(parameter.longest)})
    given = with_argument(draft, name, text) if text else draft
    return step_of((settle(given),))


def with_argument(draft: Draft, name: str, value: object) -> Draft:
    return Draft(draft.profile, {**draft.arguments, name: value})


def step_of(items: tuple[Item, ...]) -> Step:
    """What to do about a plan: ask what it needs, or do it."""
    if any(isinstance(item, Need) for item in items):
        return Ask(items)
    return Do(tuple(item for item in items if isinstance(item, Order))[:MAX_CALLS])


def confirmation(drafts: tuple[Draft, ...], preface: str) -> Need:
    """A question whose only answer is yes, with the name of a sentence before it, or none."""
    yes = Option(Choice(None, "", Name(frozenset(), "")), drafts)
    return Need(Reason.CONFIRM, (yes,), preface=(preface, "") if preface else None)


def _question(draft: Draft, parameter: Parameter) -> Need:
    if not parameter.choices:
        nothing = Choice(None, parameter.name, Name(frozenset(), ""))
        return Need(Reason.FILL, (Option(nothing, (draft,)),), parameter)
    options = tuple(
        Option(choice, (with_argument(draft, parameter.name, choice.value),))
        for choice in parameter.choices[:MAX_OPTIONS]
    )
    return Need(Reason.WHICH, options, parameter)
