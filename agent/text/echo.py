"""Own speech: what a loudspeaker has just said for the agent is never an order to it.

A microphone hears the answer too, and what a person repeats word for word cannot be told apart from
it. Whoever means it says it in other words, or a little later.
"""

import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise

# A loudspeaker begins within seconds, and a recogniser ends after it
_AFTER_S = 15.0
# As slow as a voice speaks
_WORD_S = 0.6
# Of what is heard, as much as a recogniser gets wrong in a room; "turn the led on" after "the led
# is on now" is one word of four
_WRONG = 0.2
# A word that was said and not heard, beside one that was heard and not said: recognisers pass over
# short ones. Words that are scattered over a long answer are somebody else's
_LEFT_OUT = 0.25
# Fewer are said by chance
_LEAST_WORDS = 3
_MAX_WORDS = 300
_MAX_SAID = 64
_WORD = re.compile(r"\w+(?:['’]\w+)?")
_APART = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class OwnSpeech:
    """Memory of what was said lately.

    Args:
        now_s: a clock that never goes back.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        # Until when it may be heard, and its words
        self._said: deque[tuple[float, Sequence[str]]] = deque(maxlen=_MAX_SAID)

    def note(self, text: str) -> None:
        """Remember what is being said."""
        words = _words(text)
        if words:
            self._said.append((self._now_s() + _AFTER_S + _WORD_S * len(words), words))

    def repeats(self, heard: str) -> bool:
        """Return true if that was said here a moment ago."""
        words, now_s = _words(heard), self._now_s()
        return any(_repeat(words, said) for until_s, said in self._said if until_s >= now_s)


def is_repeated(heard: str, said: str) -> bool:
    """Return true if the one is the other, as far as a recogniser can tell."""
    return _repeat(_words(heard), _words(said))


def _repeat(heard: Sequence[str], said: Sequence[str]) -> bool:
    return len(heard) >= _LEAST_WORDS and _apart(heard, said) <= _WRONG * len(heard)


def _words(text: str) -> list[str]:
    """Return the words; where no spaces part them, the signs."""
    plain = _APART.sub(lambda sign: f" {sign[0]} ", text.casefold())
    return _WORD.findall(plain)[:_MAX_WORDS]


def _apart(heard: Sequence[str], said: Sequence[str]) -> float:
    """Return how far the words are from the stretch of what was said that is most like them."""
    # It may begin anywhere
    row = [0.0] * (len(said) + 1)
    for number, word in enumerate(heard, start=1):
        found = [float(number)]
        for (diagonal, above), other in zip(pairwise(row), said, strict=True):
            same = diagonal + (word != other)
            found.append(min(same, above + 1, found[-1] + _LEFT_OUT))
        row = found
    return min(row)
