"""The nearest sentence that would have worked, for somebody who was not understood."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import islice

from agent.providers.offline.abilities import Read, examples
from agent.providers.offline.lexicon import variants
from agent.providers.offline.plan import Ask, Do, Option, Reason, Step
from agent.providers.offline.toolbox import Toolbox
from agent.providers.offline.units import Kind, split, tidy
from agent.providers.offline.wording import Voice

# So many sentences are compared; a board with more outputs has others as near
_COMPARED = 80
# Of so many the first that works is named
_TRIED = 2
# A sentence further from the message than this has nothing to do with it
_NEAR_ENOUGH = 0.45
# Of a name with a letter too many, too few or in the wrong place
_SAME_WORD = 0.7
# Long text is no order that was nearly understood
_MAX_CHARS = 120


async def nearest(text: str, box: Toolbox, voice: Voice, read: Read) -> str | None:
    """The sentence most like the message, by its words and their letters; often none."""
    if len(text) > _MAX_CHARS:
        return None
    said = _words(text)
    ranked = sorted(
        ((_likeness(said, _words(one)), one) for one in islice(examples(box, voice), _COMPARED)),
        reverse=True,
    )
    for likeness, sentence in ranked[:_TRIED]:
        if likeness < _NEAR_ENOUGH:
            break
        if isinstance(await read(sentence), Do):
            return sentence
    return None


def narrowed(step: Step, voice: Voice) -> Step:
    """A question which thing is meant by an unknown word, about the one thing most like it."""
    if not isinstance(step, Ask) or (need := step.need).preface is None:
        return step
    key, word = need.preface
    if key != "unknown_thing" or not word:
        return step
    likeness = [_name_likeness(word, option, voice) for option in need.options]
    best = max(likeness)
    if best < _SAME_WORD or likeness.count(best) > 1:
        return step
    option = need.options[likeness.index(best)]
    asked = replace(need, reason=Reason.MEAN, options=(option,))
    return replace(step, plan=tuple(asked if item is need else item for item in step.plan))


def _name_likeness(word: str, option: Option, voice: Voice) -> float:
    choice = option.choice
    names = (choice.text, voice.label(choice.text), *choice.facts.aliases)
    words = [one for name in names for one in tidy(name).casefold().replace("_", " ").split()]
    return max((SequenceMatcher(None, word, one).ratio() for one in words), default=0.0)


def _words(text: str) -> list[frozenset[str]]:
    """The pairs of letters of each word; where none are spaced, of all of it."""
    units = split(tidy(text), variants())
    words = [one.text for one in units if one.kind is Kind.WORD]
    rest = "".join(one.text for one in units if one.kind not in {Kind.WORD, Kind.MARK})
    return [_pairs(word) for word in (*words, *([rest] if rest else []))]


def _pairs(word: str) -> frozenset[str]:
    edged = f" {word} "
    return frozenset(edged[place : place + 2] for place in range(len(edged) - 1))


def _likeness(said: Sequence[frozenset[str]], wanted: Sequence[frozenset[str]]) -> float:
    """How much of the wanted words was said, each by the word most like it."""
    if not said or not wanted:
        return 0.0
    weights = [len(word) for word in wanted]
    found = [max(_dice(word, one) for one in said) for word in wanted]
    covered = sum(weight * share for weight, share in zip(weights, found, strict=True))
    # What was said beside it counts against it, but less: orders are wordy
    spare = sum(1 - max(_dice(one, word) for word in wanted) for one in said) / len(said)
    return covered / sum(weights) - spare / 4


def _dice(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other))
