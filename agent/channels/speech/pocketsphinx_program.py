"""Program that listens for the sentences of a grammar, by pocketsphinx: one run, one recording.

Reads one line of JSON (names, orders, plain sentences, what one may begin with) and samples of 16
bits at 16 kHz behind it; prints JSON with the sentence, empty for none, and the names that the
dictionary does not know. Imports nothing of the agent.

Only a whole sentence counts, and only one that the sound fits nearly as well as it fits any sounds
of the language in any order: a grammar alone finds a sentence of its own in whatever is said.
"""

import json
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pocketsphinx import Config, Decoder, get_model_path

THING = "{}"
# Half a second on both sides: the first sound and the last one are heard in full
_SILENCE = b"\0\0" * 8000
_ARTICLE = "the"
_SENTENCES, _SOUNDS = "device", "sounds"
# How much less likely than free sounds a sentence and its worst word may be, in a frame, by the
# natural logarithm; and how certain each word must be among the sentences. Chosen with voices,
# names and talk that the benchmark does not have
_LEAST_FIT = -3.8
_LEAST_FIT_OF_WORD = -6.5
_LEAST_CERTAINTY = 0.5
_SMALLEST = 5e-324


def pronunciations(words: Iterable[str], dictionary: Path) -> dict[str, str]:
    """Return how words are said; of several ways each has a number behind it, as in the file."""
    wanted, found = set(words), {}
    with dictionary.open(encoding="ascii", errors="replace") as lines:
        for line in lines:
            entry, _, phones = line.strip().partition(" ")
            if entry.partition("(")[0] in wanted:
                found[entry] = phones
    return found


def grammar_text(
    names: Sequence[str], orders: Sequence[str], plain: Sequence[str], wake: str = ""
) -> str:
    """Return the grammar in JSGF."""
    sentences = [*plain, *(order.replace(THING, "<thing>") for order in orders if names)]
    called = f"[{wake}] ({' | '.join(sentences)}) | {wake}" if wake else " | ".join(sentences)
    rules = [f"public <sentence> = {called};"]
    if names:
        rules.append(f"<thing> = [{_ARTICLE}] ({' | '.join(names)});")
    return "\n".join(("#JSGF V1.0;", "grammar device;", *rules, ""))


def is_whole(
    heard: str,
    names: Sequence[str],
    orders: Sequence[str],
    plain: Sequence[str],
    wake: str = "",
) -> bool:
    """Return true if a sentence was said to its end; the search gives the beginning of one, too."""
    if wake and heard == wake:
        return True
    heard = heard.removeprefix(f"{wake} ") if wake else heard
    if heard in plain:
        return True
    things = [thing for name in names for thing in (name, f"{_ARTICLE} {name}")]
    return any(heard == order.replace(THING, thing) for order in orders for thing in things)


def listen(asked: dict[str, Any], samples: bytes) -> dict[str, object]:
    """Return what was said, and which names cannot be heard."""
    model = Path(get_model_path()) / "en-us"
    patterns = [*asked["orders"], *asked["plain"]]
    texts = [*patterns, *asked["names"], asked["wake"], _ARTICLE]
    words = {word for text in texts for word in text.replace(THING, " ").split()}
    said = pronunciations(words, model / "cmudict-en-us.dict")
    named = [*asked["names"], *filter(None, [asked["wake"]])]
    unknown = {name for name in named if not all(word in said for word in name.split())}
    told: dict[str, object] = {"text": "", "unknown": sorted(unknown)}
    if not samples:
        return told
    names = [name for name in asked["names"] if name not in unknown]
    wake = "" if asked["wake"] in unknown else asked["wake"]
    sentences = names, asked["orders"], asked["plain"], wake
    # The dictionary of 130,000 words takes twice the memory of everything else
    decoder = Decoder(Config(hmm=str(model / "en-us"), dict=None, lm=None, loglevel="FATAL"))
    for word, phones in said.items():
        decoder.add_word(word, phones, update=False)
    decoder.add_jsgf_string(_SENTENCES, grammar_text(*sentences))
    heard, segments = _searched(decoder, _SENTENCES, samples)
    if is_whole(heard, *sentences) and _fits(decoder, segments, samples):
        told["text"] = heard
    return told


def _searched(decoder: Decoder, search: str, samples: bytes) -> tuple[str, list[Any]]:
    """Return what a search finds, and its pieces."""
    decoder.activate_search(search)
    decoder.start_utt()
    decoder.process_raw(_SILENCE + samples + _SILENCE, full_utt=True)
    decoder.end_utt()
    found = decoder.hyp()
    return ("", []) if found is None else (found.hypstr, list(decoder.seg()))


def _fits(decoder: Decoder, segments: Sequence[Any], samples: bytes) -> bool:
    """Return true if the words fit the sound, beside free sounds in the same frames."""
    decoder.add_allphone_file(_SOUNDS, None)
    _, sounds = _searched(decoder, _SOUNDS, samples)
    free = {
        frame: _log(sound.ascore) / _frames(sound)
        for sound in sounds
        for frame in range(sound.start_frame, sound.end_frame + 1)
    }
    spoken = [one for one in segments if not one.word.startswith("<")]
    fits = [
        _log(one.ascore)
        - sum(free.get(frame, 0.0) for frame in range(one.start_frame, one.end_frame + 1))
        for one in spoken
    ]
    frames = [_frames(one) for one in spoken]
    return (
        bool(spoken)
        and sum(fits) >= _LEAST_FIT * sum(frames)
        and all(fit >= _LEAST_FIT_OF_WORD * of for fit, of in zip(fits, frames, strict=True))
        and min(one.prob for one in spoken) >= _LEAST_CERTAINTY
    )


def _log(likelihood: float) -> float:
    return math.log(max(likelihood, _SMALLEST))


def _frames(segment: Any) -> int:
    return int(segment.end_frame) - int(segment.start_frame) + 1


def main() -> int:
    """Read, listen and print; return the exit status."""
    asked = json.loads(sys.stdin.buffer.readline())
    sys.stdout.write(json.dumps(listen(asked, sys.stdin.buffer.read())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
