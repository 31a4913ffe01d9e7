"""Plan of a turn: complete orders, and the questions to ask before others.

A need knows its options; a later message may settle it. All of it is recomputed from the
conversation whenever it is needed, nothing is kept.
"""

import enum
from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct, field

from agent.providers.offline.toolbox import Choice, Name, Parameter, Profile

# More calls than this out of one message are not what somebody meant
MAX_CALLS = 64
# Of a call that looks up what is scheduled, to change one of it
SCHEDULED = "scheduled"
# More choices than this are not read out
MAX_OPTIONS = 12


class Order(Struct, frozen=True):
    """One call, complete."""

    tool: str
    arguments: Mapping[str, Any]


class CallDraft(Struct, frozen=True):
    """A call that may still lack arguments."""

    profile: Profile
    arguments: Mapping[str, Any]


class Reason(enum.Enum):
    """Reason to ask."""

    # Several readings are as good as each other
    MEAN = "mean"
    # A choice was not named
    WHICH = "which"
    # One of several texts of a person was not named
    WHICH_TEXT = "which_text"
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


class ReplyOption(Struct, frozen=True):
    """Answer that a question offers: its name, and what follows from it."""

    choice: Choice
    drafts: tuple[CallDraft, ...]


class Need(Struct, frozen=True):
    """Question that must be answered first.

    Args:
        parameter: what a `FILL` is about.
        preface: the name of a sentence that comes before the question, and its slot.
    """

    reason: Reason
    options: tuple[ReplyOption, ...]
    parameter: Parameter | None = None
    preface: tuple[str, str] | None = None


Item: TypeAlias = Order | Need


class CallStep(Struct, frozen=True):
    """Calls to make now; `earlier` if what earlier turns did decided about them."""

    orders: tuple[Order, ...]
    # What the calls are for, when their results are more than an answer
    purpose: str = ""
    earlier: bool = False
    # What is said after what came of them
    beside: "SayStep | None" = None


def lookups(step: "Step") -> int:
    """Return how many calls look up what is scheduled, before one of it is changed."""
    if isinstance(step, CallStep) and step.purpose == SCHEDULED:
        return len(step.orders)
    return 0


class AskStep(Struct, frozen=True):
    """Question to ask; it is about the first need of the plan."""

    plan: tuple[Item, ...]
    earlier: bool = False

    @property
    def need(self) -> Need:
        return next(item for item in self.plan if isinstance(item, Need))


class SayStep(Struct, frozen=True):
    """Sentence by its name, with its slots."""

    key: str
    slots: Mapping[str, str] = field(default_factory=dict)


class TellStep(Struct, frozen=True):
    """Step that tells the results of this turn's calls."""


Step: TypeAlias = CallStep | AskStep | SayStep | TellStep


def settle(draft: CallDraft) -> Item:
    """Return the order, or the question for the first argument it lacks."""
    plain = _unsaid(draft.profile)
    for parameter in draft.profile.parameters:
        if parameter.needed and parameter.name not in {**plain, **draft.arguments}:
            return _question(draft, parameter)
    given = {**plain, **draft.arguments}
    names = [one.name for one in draft.profile.parameters if one.name in given]
    return Order(draft.profile.name, {name: given[name] for name in names})


def _unsaid(profile: Profile) -> dict[str, Any]:
    """Return arguments that need no word: those that keep a thing as it is, the only thing."""
    found: dict[str, Any] = {}
    for parameter in profile.parameters:
        if parameter.kept_by is not None:
            found[parameter.name] = parameter.kept_by
        elif parameter.required and len(parameter.choices) == 1 and not profile.acts:
            found[parameter.name] = parameter.choices[0].value
    return found


def settle_text(draft: CallDraft, name: str, text: str) -> Step:
    """Return the step once a text is given; a text too long for the tool is refused."""
    parameter = next((one for one in draft.profile.parameters if one.name == name), None)
    if parameter is not None and parameter.longest is not None and len(text) > parameter.longest:
        return SayStep("too_long", {"limit": str(parameter.longest)})
    given = with_argument(draft, name, text) if text else draft
    return step_of((settle(given),))


def with_argument(draft: CallDraft, name: str, value: object) -> CallDraft:
    return CallDraft(draft.profile, {**draft.arguments, name: value})


def step_of(items: tuple[Item, ...]) -> Step:
    """Return the step for a plan: ask for the first need, or act."""
    if any(isinstance(item, Need) for item in items):
        return AskStep(items)
    return CallStep(tuple(item for item in items if isinstance(item, Order))[:MAX_CALLS])


def confirmation(drafts: tuple[CallDraft, ...], preface: str) -> Need:
    """Return a question whose only answer is yes, with an optional sentence before it."""
    yes = ReplyOption(Choice(None, "", Name(frozenset(), "")), drafts)
    return Need(Reason.CONFIRM, (yes,), preface=(preface, "") if preface else None)


def _question(draft: CallDraft, parameter: Parameter) -> Need:
    if not parameter.choices:
        nothing = Choice(None, parameter.name, Name(frozenset(), ""))
        return Need(Reason.FILL, (ReplyOption(nothing, (draft,)),), parameter)
    options = tuple(
        ReplyOption(choice, (with_argument(draft, parameter.name, choice.value),))
        for choice in parameter.choices[:MAX_OPTIONS]
    )
    return Need(Reason.WHICH, options, parameter)
