"""The benchmark of the memory, on a handful of made memories: that it counts right and runs."""

import json
from multiprocessing import resource_tracker
from pathlib import Path

import pytest

from scripts.lib import kills
from scripts.lib.bench import memory
from scripts.lib.bench.datasets import Dataset, load
from scripts.lib.bench.found import no_worse, sentence_row
from scripts.lib.bench.recalled import Shares
from scripts.lib.bench.table import NO_BAR
from tests import leftovers
from tests.fakes.postgres import DEBIAN, PGVECTOR, unavailable_reason

TINY = memory.Extent(queries=10, memories=40, stores=5, texts=3, kills=1, forgets=1, vectors=(100,))
_OF_MADE_DATA = (
    "240 contradictions of 20 kinds in six languages: the true one first",
    "the old one told as old when the past is asked for",
    "facts kept at once of 300 short household messages, six languages",
    "relative and named times, 120 questions in six languages",
    "device commands that a household memory of one's own blocks",
    "an act that only a planted memory wants",
    "kill -9 around forgets and snapshots, 1 times, a third with a lost database",
)
FACTS = ("my sister is called Mei", "the pump stands in the cellar", "we drink green tea at noon")


def written(folder: Path, name: str, *, session: bool) -> Dataset:
    """A file of three memories and a question for each."""
    docs = [
        {"id": f"d{place}", "text": text} | ({"group": "g", "session": 1} if session else {})
        for place, text in enumerate(FACTS)
    ]
    queries = [
        {"id": f"q{place}", "text": text, "rel": [f"d{place}"]}
        | ({"group": "g"} if session else {})
        for place, text in enumerate(
            ("how is my sister called", "where is the pump", "when is tea")
        )
    ]
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"docs": docs, "queries": queries}))
    return load(path)


def test_every_row_is_measured(
    tmp_path: Path, model_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # It would end with this process, which looks for what is left before that
    leftovers.at_end(resource_tracker._resource_tracker._stop)
    datasets = [
        written(tmp_path, "chat", session=True),
        written(tmp_path, "xquad-en", session=False),
    ]
    rows = {row.what: row for row in memory.measured(datasets, model_dir, TINY, None)}
    assert "store ..." in capsys.readouterr().out
    assert set(rows) == {
        "store, durable, p50",
        "embedding through the agent, p50",
        "int8 model, 16 and 128 tokens, one thread",
        "int8 against sentence-transformers, 16 and 128 tokens, one thread",
        "the nearest 100 of 100 vectors, p50",
        "recall p50 at 40 memories, CPU",
        "the first answer after a stop, 40 memories",
        "the first answer after a power cut, 40 memories",
        "peak RSS at 40 memories",
        "kill -9 during stores, 1 times",
        "chat, a store for each",
        "chat, all in one store",
        "the same 100 of 3 vectors as with floats",
        "xquad-en, with the model",
        "xquad-en, words only",
        "276 unrelated messages, 3 turns stored, with the model",
        "276 unrelated messages, 3 turns stored, words only",
        *_OF_MADE_DATA,
        *(
            f"chat in one PostgreSQL, {kind}, {what}"
            for kind in (PGVECTOR, DEBIAN)
            if unavailable_reason(kind) is None
            for what in ("with the model", "words only")
        ),
    }
    for found in ("chat, a store for each", "chat, all in one store", "xquad-en, with the model"):
        assert rows[found].measured == "100.0 / 100.0 / 100.0 / 100.0"
        assert rows[found].held
    assert rows["276 unrelated messages, 3 turns stored, words only"].held
    assert rows["kill -9 during stores, 1 times"].held
    assert rows["the same 100 of 3 vectors as with floats"].measured.startswith("100.0 %")


def test_shares_count_what_is_found_and_how_early() -> None:
    shares = Shares()
    shares.count(["x", "a", "y"], frozenset({"a"}))
    assert (shares.at(1), shares.at(5)) == (0.0, 100.0)
    assert round(shares.ndcg, 1) == 63.1
    shares.count(["a", "b"], frozenset({"a", "b"}))
    assert (shares.at(1), shares.at(10)) == (25.0, 100.0)


def test_a_bar_is_missed_by_less_than_what_is_rounded() -> None:
    shares = Shares()
    for number in range(1000):
        shares.count(["a"] if number < 869 else [], frozenset({"a"}))
    assert sentence_row("xquad-zh", "words only", shares, "", {"xquad-zh": 87.0}).held is False
    assert sentence_row("xquad-zh", "words only", shares, "", {"xquad-zh": 86.9}).held
    free = sentence_row("xquad-fr", "words only", shares, "", {"xquad-zh": 87.0})
    assert (free.bar, free.cells[-1]) == (NO_BAR, NO_BAR)


def test_a_model_that_finds_less_than_words_alone_misses_its_bar() -> None:
    some, more = Shares(), Shares()
    some.count(["x"], frozenset({"a"}))
    more.count(["a"], frozenset({"a"}))
    row = sentence_row("xquad-vi", "with the model", more, "", {"xquad-vi": 86.8})
    assert no_worse(row, more, some).held
    assert no_worse(row, some, more).held is False
    assert "86.8, and R@5 >= words only" in no_worse(row, more, some).bar
    free = sentence_row("xquad-fr", "with the model", some, "", {})
    assert no_worse(free, some, more).held is False


def test_losses_are_not_hidden() -> None:
    assert kills.Losses(9, 0, 0).is_none
    assert not kills.Losses(9, 1, 0).is_none
    assert not kills.Losses(9, 0, 1).is_none


def test_a_folder_without_data_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert memory.main(["--data", str(tmp_path)]) == 2
    assert "has no .json file" in capsys.readouterr().err
