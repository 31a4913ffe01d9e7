"""Program that listens for the sentences of a grammar, by pocketsphinx: one run, one recording.

Reads one line of JSON (names, orders, plain sentences) and samples of 16 bits at 16 kHz behind it;
prints JSON with the sentence, empty for none, and the names that the dictionary does not know.
Only a whole sentence counts. Imports nothing of the agent.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pocketsphinx import Config, Decoder, get_model_path

THING = "{}"
# Half a second on both sides: the first sound and the last one are heard in full
_SILENCE = b"\0\0" * 8000
_ARTICLE = "the"


def pronunciations(words: Iterable[str], dictionary: Path) -> dict[str, str]:
    """Return how words are said; of several ways each has a number behind it, as in the file."""
    wanted, found = set(words), {}
    with dictionary.open(encoding="ascii", errors="replace") as lines:
        for line in lines:
            entry, _, phones = line.strip().partition(" ")
            if entry.partition("(")[0] in wanted:
                found[entry] = phones
    return found


def grammar_text(names: Sequence[str], orders: Sequence[str], plain: Sequence[str]) -> str:
    """Return the grammar in JSGF."""
    sentences = [*plain, *(order.replace(THING, "<thing>") for order in orders if names)]
    rules = [f"public <sentence> = {' | '.join(sentences)};"]
    if names:
        rules.append(f"<thing> = [{_ARTICLE}] ({' | '.join(names)});")
    return "\n".join(("#JSGF V1.0;", "grammar device;", *rules, ""))


def is_whole(heard: str, names: Sequence[str], orders: Sequence[str], plain: Sequence[str]) -> bool:
    """Return true if a sentence was said to its end; the search gives the beginning of one, too."""
    if heard in plain:
        return True
    things = [thing for name in names for thing in (name, f"{_ARTICLE} {name}")]
    return any(heard == order.replace(THING, thing) for order in orders for thing in things)


def listen(asked: dict[str, Any], samples: bytes) -> dict[str, object]:
    """Return what was said, and which names cannot be heard."""
    model = Path(get_model_path()) / "en-us"
    patterns = [*asked["orders"], *asked["plain"]]
    texts = [*patterns, *asked["names"], _ARTICLE]
    words = {word for text in texts for word in text.replace(THING, " ").split()}
    said = pronunciations(words, model / "cmudict-en-us.dict")
    names = [name for name in asked["names"] if all(word in said for word in name.split())]
    told: dict[str, object] = {"text": "", "unknown": sorted(set(asked["names"]) - set(names))}
    if not samples:
        return told
    # The dictionary of 130,000 words takes twice the memory of everything else
    decoder = Decoder(Config(hmm=str(model / "en-us"), dict=None, lm=None, loglevel="FATAL"))
    for word, phones in said.items():
        decoder.add_word(word, phones, update=False)
    decoder.add_jsgf_string("device", grammar_text(names, asked["orders"], asked["plain"]))
    decoder.activate_search("device")
    decoder.start_utt()
    decoder.process_raw(_SILENCE + samples + _SILENCE, full_utt=True)
    decoder.end_utt()
    heard = decoder.hyp().hypstr if decoder.hyp() is not None else ""
    if is_whole(heard, names, asked["orders"], asked["plain"]):
        told["text"] = heard
    return told


def main() -> int:
    """Read, listen and print; return the exit status."""
    asked = json.loads(sys.stdin.buffer.readline())
    sys.stdout.write(json.dumps(listen(asked, sys.stdin.buffer.read())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
