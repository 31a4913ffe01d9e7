"""Parts of the memory's bench: which rows there are, and how many trials each has."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from scripts.lib.bench import (
    agents,
    cold,
    crowd,
    dated,
    embedded,
    found,
    held_back,
    killed,
    returned,
    scanned,
    shared_brain,
    stored,
    truths,
    unrelated,
    widened,
)
from scripts.lib.bench.brains import LOCAL, POSTGRES, BenchBrain, brains
from scripts.lib.bench.datasets import Dataset
from scripts.lib.bench.table import Row

# Names of `--only`. With a data set: what recall finds; messages that nothing stored is
# about; PostgreSQL beside sqlite
FOUND = "found"
WITH_DATA = {"unrelated": unrelated.measure, "postgres": shared_brain.measure}

# Without one
ALONE = ("truths", "times", "commands", "forgets", "cold", "agents")
# Those that can be measured with another brain
OF_A_BRAIN = ("truths", "times", "forgets", "unrelated")

Measure = Callable[[], Row | list[Row]]
Part = tuple[str, Measure]


@dataclass(frozen=True, slots=True)
class Extent:
    """Number of trials of each measure."""

    queries: int
    memories: int
    stores: int
    texts: int
    kills: int
    forgets: int
    vectors: tuple[int, ...]
    crowd: agents.Crowd = agents.WHOLE


WHOLE = Extent(1_000_000, 100_000, 500, 300, 200, 2_000, (1_000, 10_000, 100_000, 1_000_000))
QUICK = Extent(60, 10_000, 100, 60, 20, 40, (1_000, 10_000), agents.SMALL)


def timed(datasets: Sequence[Dataset], model: Path, extent: Extent) -> list[Part]:
    texts = [document.text for document in datasets[0].documents]
    return [
        ("store", partial(stored.measure, texts[: extent.stores])),
        ("embedding", partial(embedded.measure, texts[: extent.texts], model)),
        ("int8", partial(widened.measure, model, extent.texts)),
        ("vectors", partial(scanned.measure, extent.vectors)),
        (
            f"{extent.memories:,} memories",
            partial(crowd.measure, datasets[0], model, extent.memories),
        ),
    ]


def counted(datasets: Sequence[Dataset], model: Path, extent: Extent) -> list[Part]:
    return [
        *of_data(FOUND, datasets, model, extent),
        *_of_conversations("unrelated", datasets, model),
        *_of_conversations("postgres", datasets, model),
        (f"{extent.kills} kills", partial(killed.measure, extent.kills)),
        *made(extent, model),
    ]


def of_data(
    kind: str,
    datasets: Sequence[Dataset],
    model: Path,
    extent: Extent,
    brain: BenchBrain = LOCAL,
) -> list[Part]:
    if kind != FOUND:
        return _of_conversations(kind, datasets, model, brain)
    thinned = [one.thinned(extent.queries) for one in datasets]
    return [(one.name, partial(found.measure, one, model)) for one in thinned]


def _of_conversations(
    kind: str, datasets: Sequence[Dataset], model: Path, brain: BenchBrain = LOCAL
) -> list[Part]:
    measure = WITH_DATA[kind]
    talks = [one for one in datasets if one.is_conversation]
    return [(f"{one.name}, {kind}", partial(measure, one, model, brain)) for one in talks]


def made(extent: Extent, model: Path, brain: BenchBrain = LOCAL) -> list[Part]:
    """Parts whose data is made."""
    return [
        ("truths", partial(truths.measure, brain)),
        ("times", partial(dated.measure, brain)),
        ("commands", held_back.measure),
        ("forgets", partial(returned.measure, extent.forgets, brain)),
        ("cold", partial(cold.measure, extent.memories, model)),
    ]


def alone(name: str, extent: Extent, model: Path, brain: BenchBrain) -> Measure:
    """Return the part of that name, which needs no data set."""
    return dict([*made(extent, model, brain), ("agents", partial(_agents, extent.crowd))])[name]


def _agents(crowd: agents.Crowd) -> list[Row]:
    """Return the rows of many agents, with each kind of server."""
    with brains(POSTGRES, crowd.agents + agents.SPARE_CONNECTIONS) as found:
        return [
            replace(row, what=f"{row.what}{brain.suffix}")
            for brain in found
            for row in agents.measure(crowd, brain)
        ]
