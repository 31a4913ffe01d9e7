"""Verifier of acts: nothing moves unless every word of the message is accounted for.

It knows nothing of how an order was arrived at. From the pieces of the message alone it finds again
which things were named, which value was said and how much, and compares. A word that nothing takes,
both values in one clause, a number that was not read whole, or a doubt such as "if" and "not" is a
fault: then nothing is done, and the person is told which word it was.
"""

import enum
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct

from agent.messages import Effect
from agent.providers.offline.all_off import rest_of
from agent.providers.offline.clauses import aims, is_step
from agent.providers.offline.lexicon import lexicon
from agent.providers.offline.measures import Amount, converted
from agent.providers.offline.names import PLACE
from agent.providers.offline.pieces import Analysis, Piece
from agent.providers.offline.plan import Order
from agent.providers.offline.senses import actions, closeness, quantities, things, values
from agent.providers.offline.slots import may_mean
from agent.providers.offline.statements import OFF, ON, Statement, statements_of, taken_back
from agent.providers.offline.toolbox import (
    Choice,
    Parameter,
    Profile,
    Toolbox,
    bare_light,
    spelling_of,
)
from agent.providers.offline.units import UnitKind

_MOVES = frozenset({Effect.ACTUATE, Effect.HAZARD})
# Better than by any kind
_OWN = 3.0
_OPENING = frozenset({"open", "closed"})
_LOOKING = frozenset({"read", "list", "ask"})
# What reaches beyond its own sentence
_FAR = "negate no cancel suppose report later switch set move on off open closed"
_REACHING = frozenset(_FAR.split())
_VERBS = frozenset({"switch", "set", "move"})
# Words that say nothing against an act, and those that do only where nothing earlier is meant
_KIND = "request filler amend stop greet thanks object done lead aim step way but all both yes mine"
_BACK = "more less slightly greatly again another ask first second third particle state"
_HARMLESS, _POINTING = frozenset((*_KIND.split(), "join", "too")), frozenset(_BACK.split())


class OrderScope(enum.Enum):
    """Part of an order that the message itself has to say."""

    # All of it
    MESSAGE = "message"
    # What earlier messages did not say
    EARLIER = "earlier"
    # Which of the answers to a question it is
    REPLY = "reply"


class OrderFault(Struct, frozen=True):
    """Reason not to act: the unexplained word, or none if the whole is unclear."""

    word: str = ""
    # A thing was named, but not by the whole of any of its names
    is_half_named: bool = False


def fault_in(
    orders: Sequence[Order],
    analysis: Analysis,
    box: Toolbox,
    scope: OrderScope = OrderScope.MESSAGE,
) -> OrderFault | None:
    """Return the reason not to act on this message; None if every word is accounted for."""
    moving = [(order, profile) for order in orders if (profile := _mover(order, box))]
    if not moving:
        return None
    ledger = _Ledger(analysis, box, scope)
    if ledger.stops_a_deed or (_contradicts(moving) and not ledger.says("join")):
        return OrderFault()
    for order, profile in moving:
        if not ledger.takes(order, profile):
            return OrderFault(ledger.untaken(), is_half_named=ledger.is_half_named)
    looked = len(moving) < len(orders)
    left = ledger.left(looked=looked)
    return None if left is None else OrderFault(left)


def _mover(order: Order, box: Toolbox) -> Profile | None:
    profile = box.find(order.tool)
    return profile if profile is not None and profile.spec.effect in _MOVES else None


def _contradicts(moving: Sequence[tuple[Order, Profile]]) -> bool:
    """Return true if one thing is to be two ways, and nothing says one after the other."""
    told: dict[tuple[str, object], Order] = {}
    for order, profile in moving:
        device = None if profile.device is None else order.arguments.get(profile.device.name)
        if told.setdefault((order.tool, device), order) != order:
            return True
    return False


class _Ledger:
    """The pieces of a message, and which of them an order has taken."""

    def __init__(self, analysis: Analysis, box: Toolbox, scope: OrderScope) -> None:
        self._box = box
        self._scope = scope
        self._points_back = scope is not OrderScope.MESSAGE
        self._taken: set[int] = set()
        self.is_half_named = False
        self._clauses = statements_of(analysis)
        self._verb_final = lexicon(analysis.code).verb_final
        self._spelling = f" {' '.join(one.text for one in analysis.pieces)} "
        self._asks = "?" in analysis.text.replace("？", "?")

    def takes(self, order: Order, profile: Profile) -> bool:
        """Return true if the message says this order, and mark its words as used."""
        device = profile.device
        value = None if device is None else order.arguments.get(device.name)
        choices = () if device is None else device.choices
        choice = next((one for one in choices if one.value == value), None)
        homes = [one for one in self._clauses if self._names(one, choice, choices, profile)]
        if not homes and self._points_back:
            homes = list(self._clauses)
        if self._rests(order, profile, choice) and (homes or self._is_all()):
            return True
        return any(self._agrees(clause, order, profile, choice) for clause in homes)

    def left(self, *, looked: bool) -> str | None:
        """Return the first word that nothing accounts for; None if there is none.

        Args:
            looked: something was only looked at, too: its clause has words of its own.
        """
        if self._asks and not self._points_back and not self.says("request"):
            return "?"
        spoken = [one for each in self._clauses for one in each.pieces if one.known or one.number]
        if any("join" in one.senses and not actions() & {*one.senses} for one in spoken[-1:]):
            # Something was still to come: treinta y ...
            return spoken[-1].text
        if (word := taken_back(self._clauses, self._taken)) is not None:
            return word
        said = {one.sentence for one in self._clauses if self._has_taken(one)}
        for clause in self._clauses:
            if looked and clause.senses & _LOOKING:
                continue
            if said and clause.sentence not in said and not clause.senses & _REACHING:
                # Another sentence that orders nothing: The neighbours were loud
                continue
            for piece in clause.pieces:
                if not self._is_accounted(piece, clause) or self._turns_back(piece, clause):
                    return piece.text
        return None

    def _turns_back(self, piece: Piece, clause: Statement) -> bool:
        """Return true for a value without a thing, unlike that of the things: on and off."""
        said = set(piece.senses) & (ON | OFF)
        if not said or self._has_taken(clause):
            return False
        taken = [one.senses for one in self._clauses if self._has_taken(one)]
        others = frozenset().union(*taken) & (ON | OFF)
        return bool(others) and bool(said & ON) != bool(others & ON)

    def _has_taken(self, clause: Statement) -> bool:
        return any(id(piece) in self._taken for piece in clause.pieces)

    def untaken(self) -> str:
        """Return the first word that is not understood at all."""
        pieces = [piece for clause in self._clauses for piece in clause.pieces]
        return next((one.text for one in pieces if not one.known and one.number is None), "")

    def says(self, sense: str) -> bool:
        """Return true if a word of the message has this sense."""
        return any(sense in clause.senses for clause in self._clauses)

    @property
    def stops_a_deed(self) -> bool:
        """Return true for a verb that stops another one: stop turning the light off."""
        for each in self._clauses:
            verbs = [one for one in each.pieces if "switch" in one.senses]
            values_said = [one for one in each.pieces if (ON | OFF) & {*one.senses}]
            if min(len(verbs), len(values_said)) > 1:
                return True
        return False

    def _is_all(self) -> bool:
        """Return true if everything was meant, and no thing was named beside it."""
        said = frozenset().union(*(clause.senses for clause in self._clauses))
        return "all" in said and not things(said) - _HARMLESS

    def _names(
        self, clause: Statement, choice: Choice | None, choices: Sequence[Choice], profile: Profile
    ) -> bool:
        """Return true if the clause names this thing, and none of the others better."""
        said = clause.senses | {f"~{one.text}" for one in clause.pieces} | _joined(clause.pieces)
        if choice is None:
            named = bool(profile.words & said) or any(
                closeness(one, said) for one in profile.things
            )
        else:
            fits = _best(choices, said)
            best = fits[choice.text] == max(fits.values())
            named = best and fits[choice.text] > 0
            self.is_half_named |= not named and bool(said & choice.name.senses)
        if named:
            self._take(clause, choice, profile)
        return bool(named)

    def _take(self, clause: Statement, choice: Choice | None, profile: Profile) -> None:
        own = profile.words if choice is None else choice.senses | profile.words
        words = set(spelling_of(profile.name).split())
        if choice is not None:
            words |= set(spelling_of(choice.text).split())
            own |= {f"{PLACE}{place}" for place in choice.facts.places}
        for piece in clause.pieces:
            senses = things(piece.senses)
            near = any(closeness(one, senses) for one in own)
            if near or f"~{piece.text}" in own or piece.text in words:
                self._taken.add(id(piece))

    def _agrees(
        self, clause: Statement, order: Order, profile: Profile, choice: Choice | None
    ) -> bool:
        """Compare every argument with the clause, or with its neighbours if the clause has none."""
        amounts = clause.amounts or [one for each in self._clauses for one in each.amounts]
        said = self._value_for(clause)
        if said is None:
            return False
        for parameter in profile.parameters:
            given = order.arguments.get(parameter.name)
            if given is None or given == parameter.kept_by or parameter is profile.device:
                continue
            if not self._is_said(parameter, given, said, amounts, choice):
                return False
        self._take_quantities(clause, profile, choice)
        return True

    def _rests(self, order: Order, profile: Profile, choice: Choice | None) -> bool:
        """Return true if everything was to be off, and this is the rest of that thing."""
        said = frozenset().union(*(clause.senses for clause in self._clauses))
        if choice is None or "all" not in said or said & (ON | OFF) != {"off"}:
            return False
        rest = rest_of(profile, choice)
        return rest is not None and all(order.arguments.get(k) == v for k, v in rest.items())

    def _value_for(self, clause: Statement) -> frozenset[str] | None:
        """Return on or off as it was said for a clause; None if both were said."""
        place = self._clauses.index(clause)
        around = [clause, *reversed(self._clauses[:place]), *self._clauses[place + 1 :]]
        said = next((one.senses & (ON | OFF) for one in around if one.senses & (ON | OFF)), None)
        if said is None:
            return frozenset()
        return None if said & ON and said & OFF else said

    def _is_said(
        self,
        parameter: Parameter,
        given: object,
        said: frozenset[str],
        amounts: Iterable[Amount],
        choice: Choice | None,
    ) -> bool:
        if parameter.switches:
            return self._is_switched_so(given, said, choice)
        if not isinstance(given, (int, float)):
            words = str(given).casefold().split()
            spoken = [piece for one in self._clauses for piece in one.pieces if piece.text in words]
            self._taken |= {id(piece) for piece in spoken}
            return {piece.text for piece in spoken} >= set(words)
        for amount in amounts:
            if not self._points_back and self._is_step(amount):
                continue
            fits = may_mean(amount, parameter, self._spelling)
            if fits and _is_close(converted(amount, parameter.unit), given):
                self._taken |= {id(piece) for piece in amount.pieces}
                return True
        if self._points_back and (self.says("more") or self.says("less")):
            # By how much is for the step to say, not for what comes of it
            self._taken |= {id(piece) for amount in amounts for piece in amount.pieces}
            return True
        if not any(True for _ in amounts):
            return self._points_back or (
                bool(said) and given == level_of(parameter, _value(said, choice))
            )
        return False

    def _is_switched_so(self, given: object, said: frozenset[str], choice: Choice | None) -> bool:
        if said:
            return _value(said, choice) == _plain(given)
        pieces = [piece for one in self._clauses for piece in one.pieces]
        lit = choice is not None and bare_light(pieces, [choice]) is choice
        return self._points_back or (lit and _plain(given) == "on")

    def _take_quantities(self, clause: Statement, profile: Profile, choice: Choice | None) -> None:
        """Take words for a level: brightness of a lamp, speed of a fan."""
        senses = profile.words if choice is None else profile.words | choice.senses
        owned = {name for name, owners in quantities().items() if senses & set(owners)}
        shares = any(one.unit and one.unit.kind == "share" for one in profile.parameters)
        for piece in clause.pieces:
            named = set(piece.senses) & quantities().keys()
            # A thing of no known kind may have any level, and none has a temperature for it
            fits = named & owned or (shares and not owned and named - {"temperature"})
            if named and fits:
                self._taken.add(id(piece))

    def _is_accounted(self, piece: Piece, clause: Statement) -> bool:
        if piece.kind is UnitKind.MARK or id(piece) in self._taken:
            return True
        if piece.number is not None:
            return self._scope is OrderScope.REPLY
        timed = {"during", "later"} & set(piece.senses)
        if timed and "stop" not in piece.senses:
            return self._is_measured(piece, clause)
        harmless = _HARMLESS | actions() & _VERBS | values()
        if any(self._is_aimed(one, clause) for one in clause.amounts):
            harmless |= {"more", "less"} | quantities().keys()
        if self._points_back:
            harmless |= _POINTING
        elif self.says("request") or self.says("object"):
            harmless |= {"particle", "state"}
        return bool(piece.senses) and set(piece.senses) - {"during"} <= harmless

    def _is_aimed(self, amount: Amount, clause: Statement) -> bool:
        """Return true if the message says that a level ends there, and the number was taken."""
        aimed = aims(amount, clause.pieces, verb_final=self._verb_final)
        return aimed and id(amount.pieces[0]) in self._taken

    def _is_step(self, amount: Amount) -> bool:
        """Return true if the message says that a level changes by so much."""
        homes = (one.pieces for one in self._clauses if amount.pieces[0] in one.pieces)
        return any(is_step(amount, pieces) for pieces in homes)

    def _is_measured(self, piece: Piece, clause: Statement) -> bool:
        """Return true for a word about time beside a taken number: for 5 seconds, 5 times."""
        place = clause.pieces.index(piece)
        beside = clause.pieces[max(0, place - 1) : place + 2]
        return any(one.number is not None and id(one) in self._taken for one in beside) or any(
            id(one) in self._taken and one in amount.pieces
            for amount in clause.amounts
            for one in beside
        )


def level_of(parameter: Parameter, value: str) -> float | None:
    """Return the level that is on or off; None if it has no ends."""
    return parameter.maximum if value == "on" else parameter.minimum


def _best(choices: Sequence[Choice], said: frozenset[str]) -> dict[str, float]:
    """Score the names of each thing: the owner's name, its kind, a near kind."""
    marks = {one.mark for one in choices} & said
    found: dict[str, float] = {}
    several = bool({"all", "both"} & said)
    alike = Counter(kind for one in choices for kind in _kinds(one))
    for one in choices:
        names = [one.name.senses, *(alias.senses for alias in one.aliases)]
        if several:
            # Heater 1 and heater 2 are all heaters
            names += [kind for kind in _kinds(one) if kind and alike[kind] > 1]
        there = {f"{PLACE}{place}" for place in one.facts.places} & said
        if several and there and not marks:
            found[one.text] = _OWN
            continue
        # Half a name names nothing: which lamp is for the person to say
        spoken = max(min(closeness(sense, said) for sense in senses) for senses in names)
        longer = len(one.name.senses) > 1 and one.name.senses <= said
        by_kind = spoken if not marks or longer else 0.0
        found[one.text] = _OWN if one.mark in said and not longer else by_kind + _OWN * longer
    return found


def _kinds(choice: Choice) -> set[frozenset[str]]:
    """Return the names of a thing without its number."""
    names = (choice.name, *choice.aliases)
    return {frozenset(one for one in name.senses if not one.startswith("~")) for name in names}


def _value(said: frozenset[str], choice: Choice | None) -> str:
    value = "on" if said & ON else "off"
    if choice is not None and said & _OPENING and choice.facts.opens == "off":
        return "off" if value == "on" else "on"
    return value


def _plain(given: object) -> str:
    return "on" if given is True or str(given) in ON else "off"


def _is_close(said: float | None, given: float) -> bool:
    return said is not None and abs(said - given) < 1e-6  # noqa: PLR2004 - of rounding


def _joined(pieces: Sequence[Piece]) -> frozenset[str]:
    return frozenset(f"~{one.text}{two.text}" for one, two in pairwise(pieces))
