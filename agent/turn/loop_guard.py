"""Loop guard: gets each round's calls and results and reports a turn that repeats itself.

A round is one answer of the model: what it asks for at once it has planned, only what comes back
round after round is a loop. A reading that changes is none. Looks at nothing but what it is fed.
"""

import enum
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property

import msgspec
from msgspec import Struct, field

from agent.memory.text import asked_tokens

# The third time the same comes of the same: it will a fourth time
MOST_REPEATS = 3
# Slightly different questions with one answer: some are honest attempts
NEAR_BEFORE_NUDGE, MOST_NEAR = 3, 5
# To and fro: a lamp may blink a few times
CYCLES_BEFORE_NUDGE, MOST_CYCLES = 3, 4
# Rounds that brought nothing that was not known
IDLE_BEFORE_NUDGE, MOST_IDLE = 3, 5
# Two sets of words that share as much say the same
_ALIKE = 0.6
# Of long arguments and results, enough to tell them apart
_COMPARED_CHARS = 2000
_COMPARED_TOKENS = 64


class Course(enum.IntEnum):
    """Action of the loop guard; the higher, the more urgent."""

    # It gets on
    GO_ON = 0
    # The model is told
    NUDGE = 1
    # The turn ends
    STOP = 2


class Advice(Struct, frozen=True):
    """A course, and a sentence: for the model with a nudge, for the person with a stop."""

    course: Course = Course.GO_ON
    sentence: str = ""


class Step(Struct, frozen=True, dict=True):
    """A call and what came of it.

    Args:
        changes: it succeeded, and its tool is of those that change something.
    """

    tool: str
    arguments_json: str
    result: str
    success: bool
    changes: bool = False

    @cached_property
    def call(self) -> tuple[str, str]:
        """The same for the same call, however its arguments are written."""
        try:
            fields = msgspec.json.decode(self.arguments_json or "{}")
            return self.tool, msgspec.json.encode(fields, order="deterministic").decode()
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return self.tool, self.arguments_json

    @cached_property
    def words(self) -> frozenset[str]:
        return _words(self.call[1])

    def is_same(self, other: "Step") -> bool:
        return (self.call, self.result) == (other.call, other.result)

    def is_near(self, other: "Step") -> bool:
        """Another way to ask for the same that has brought the same, or failed as well."""
        if self.tool != other.tool or self.changes or self.success is not other.success:
            return False
        if self.result != other.result and (
            self.success or not _are_alike(_words(self.result), _words(other.result))
        ):
            return False
        return _are_alike(self.words, other.words)


_GO_ON = Advice()


class LoopGuard(Struct):
    """Follows one turn."""

    _rounds: list[tuple[Step, ...]] = field(default_factory=list)
    # Rounds since the world last changed, other than by the very same call
    _unchanged: list[tuple[Step, ...]] = field(default_factory=list)
    _last: dict[tuple[str, str], str] = field(default_factory=dict)
    _known: set[tuple[str, str]] = field(default_factory=set)
    _idle: int = 0

    def after(self, steps: Sequence[Step]) -> Advice:
        """Return the advice after one more round."""
        done = tuple(steps)
        self._rounds.append(done)
        self._forget_what_has_changed(done)
        self._unchanged.append(done)
        advices = [self._repetition(done), self._to_and_fro(), self._lack_of_progress(done)]
        return max(advices, key=lambda advice: advice.course)

    def _forget_what_has_changed(self, steps: tuple[Step, ...]) -> None:
        changed = {step.call for step in steps if step.changes}
        moved = any(self._last.get(step.call, step.result) != step.result for step in steps)
        self._last |= {step.call: step.result for step in steps}
        if moved:
            # A reading says that the world goes on: doing the same again may be right
            self._unchanged = []
        elif changed:
            kept = [tuple(s for s in earlier if s.call in changed) for earlier in self._unchanged]
            self._unchanged = [earlier for earlier in kept if earlier]

    def _repetition(self, steps: tuple[Step, ...]) -> Advice:
        same = max((self._rounds_with(step.is_same) for step in steps), default=0)
        near = max((self._rounds_with(step.is_near) for step in steps), default=0)
        if same >= MOST_REPEATS:
            return Advice(Course.STOP, f"the same step came to the same {same} times")
        if near >= MOST_NEAR:
            return Advice(Course.STOP, f"nearly the same step came to the same {near} times")
        if same == MOST_REPEATS - 1 or near >= NEAR_BEFORE_NUDGE:
            return Advice(Course.NUDGE, _REPEATED)
        return _GO_ON

    def _rounds_with(self, fits: Callable[[Step], bool]) -> int:
        return sum(any(map(fits, earlier)) for earlier in self._unchanged)

    def _to_and_fro(self) -> Advice:
        signs = [[(step.call, step.result) for step in steps] for steps in self._rounds]
        length = 0
        if len(signs) > 1 and signs[-1] != signs[-2]:
            length = 2
            while length < len(signs) and signs[-length - 1] == signs[-length + 1]:
                length += 1
        cycles = length // 2
        if cycles >= MOST_CYCLES:
            return Advice(Course.STOP, f"the same two steps took turns {cycles} times")
        return Advice(Course.NUDGE, _TO_AND_FRO) if cycles >= CYCLES_BEFORE_NUDGE else _GO_ON

    def _lack_of_progress(self, steps: tuple[Step, ...]) -> Advice:
        news = {(s.tool, s.result) for s in steps if s.success} - self._known
        self._known |= news
        brought_something = bool(news) or any(step.changes for step in steps)
        self._idle = 0 if brought_something else self._idle + 1
        if self._idle >= MOST_IDLE:
            return Advice(Course.STOP, f"{self._idle} rounds of tool use brought nothing new")
        return Advice(Course.NUDGE, _IDLE) if self._idle >= IDLE_BEFORE_NUDGE else _GO_ON


_REPEATED = (
    "This brought the same as before. Do not repeat it: try something else, or answer with what "
    "you have. What changes later can be waited for with a watch."
)
_TO_AND_FRO = (
    "You go to and fro between the same two steps. If that is not what the person asked for, "
    "answer with what you have."
)
_IDLE = (
    "The last rounds brought nothing new. Try something quite different, or answer with what you "
    "have and say what is missing."
)


def _words(text: str) -> frozenset[str]:
    return frozenset(asked_tokens(text[:_COMPARED_CHARS], _COMPARED_TOKENS))


def _are_alike(one: AbstractSet[str], other: AbstractSet[str]) -> bool:
    return len(one & other) >= _ALIKE * len(one | other)
