"""Sentences of a household in six languages, made for the benchmarks of the memory.

Each kind of fact has a first wording, a later one that contradicts it, and a question; {v} is the
value. A kind without values of its own has those of `values`, in every language.
"""

import json
from dataclasses import dataclass
from pathlib import Path

_PATH = Path(__file__).with_suffix(".json")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fact in one language; `pairs` are an old and a new value each."""

    name: str
    first: str
    later: str
    question: str
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Language:
    """Sentences of one language.

    Args:
        past: how one asks for what was so before; {q} is the question.
        lasting: rules and facts besides the kinds.
        talk: what tells nothing that lasts.
    """

    code: str
    past: str
    kinds: tuple[Kind, ...]
    lasting: tuple[str, ...]
    talk: tuple[str, ...]


def languages() -> list[Language]:
    """Return all languages."""
    content = json.loads(_PATH.read_text(encoding="utf-8"))
    return [
        Language(
            one["code"],
            one["past"],
            tuple(_kind(kind, content["values"]) for kind in one["kinds"]),
            tuple(one["lasting"]),
            tuple(one["talk"]),
        )
        for one in content["languages"]
    ]


def _kind(row: list[str], values: dict[str, list[list[str]]]) -> Kind:
    name, first, later, question, *own = row
    pairs = own[0] if own else values[name]
    return Kind(name, first, later, question, tuple((old, new) for old, new in pairs))
