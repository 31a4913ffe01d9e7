"""Made contradictions: the true statement found first, the old one told as old; facts kept."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.memory.base import CORE, HeardMessage, MemoryEntry, Scope
from agent.memory.consolidation import Consolidation
from agent.memory.postgres.memory import PostgresMemory
from agent.memory.sqlite import SqliteMemory
from agent.messages import Provenance
from agent.system.clock import SystemClock
from scripts.lib.bench.brains import LOCAL, BenchBrain
from scripts.lib.bench.household import Kind, Language, languages
from scripts.lib.bench.table import Row

OWNER = Scope("owner")
TRUTH_BAR, KEPT_BAR = 95.0, 95.0
# Two sessions, a week apart
FIRST_S, LATER_S = 1_760_000_000.0, 1_760_604_800.0
_PLACES = 5


class Told:
    """A memory that keeps what a person says, without a language model."""

    def __init__(self, folder: Path, brain: BenchBrain) -> None:
        self.memory = brain.open(folder, SystemClock())
        self._said: list[HeardMessage] = []
        self._keeper = Consolidation(
            self._listen, self.memory, None, folder / "consolidation.json", SystemClock()
        )

    async def tell(self, text: str, session: str, at_s: float) -> None:
        number = len(self._said) + 1
        said = HeardMessage(number, "owner", session, text, Provenance.OWNER, at_s)
        self._said.append(said)
        await self._keeper.keep()

    async def _listen(self, after_id: int, limit: int) -> Sequence[HeardMessage]:
        return self._said[after_id : after_id + limit]


@dataclass(slots=True)
class Counted:
    """Answers that are right, of all; `wrong` names the others."""

    right: int = 0
    of: int = 0
    wrong: list[str] = field(default_factory=list)

    def count(self, name: str, *, is_right: bool) -> None:
        self.of += 1
        self.right += is_right
        if not is_right:
            self.wrong.append(name)

    @property
    def share(self) -> float:
        return 100 * self.right / self.of if self.of else 0.0

    def text(self) -> str:
        named = f"; not {', '.join(self.wrong[:8])}" if self.wrong else ""
        return f"{self.right} of {self.of}{named}"


def measure(brain: BenchBrain = LOCAL) -> list[Row]:
    """The rows of contradictions and of kept facts."""
    return [*asyncio.run(_contradictions(brain)), *asyncio.run(_kept(brain))]


async def _contradictions(brain: BenchBrain) -> list[Row]:
    now, before = Counted(), Counted()
    for language in languages():
        for place in range(2):
            with tempfile.TemporaryDirectory(prefix="barnacle-bench-") as folder:
                told = Told(Path(folder), brain)
                await _one_home(told, language, place, (now, before))
    return [
        Row(
            f"{now.of} contradictions of 20 kinds in six languages: the true one first",
            f">= {TRUTH_BAR:g} %",
            f"{now.share:.1f} % ({now.text()})",
            "words only, no language model",
            now.share >= TRUTH_BAR,
        ),
        Row(
            "the old one told as old when the past is asked for",
            f">= {TRUTH_BAR:g} %",
            f"{before.share:.1f} % ({before.text()})",
            "words only, no language model",
            before.share >= TRUTH_BAR,
        ),
    ]


async def _one_home(
    told: Told, language: Language, place: int, counts: tuple[Counted, Counted]
) -> None:
    for kind in language.kinds:
        await told.tell(kind.first.format(v=kind.pairs[place][0]), "first", FIRST_S)
    for kind in language.kinds:
        await told.tell(kind.later.format(v=kind.pairs[place][1]), "later", LATER_S)
    for kind in language.kinds:
        await _ask(told.memory, language, kind, place, counts)
    await told.memory.aclose()


async def _ask(
    memory: SqliteMemory | PostgresMemory,
    language: Language,
    kind: Kind,
    place: int,
    counts: tuple[Counted, Counted],
) -> None:
    old, new = kind.pairs[place]
    earlier, later = kind.first.format(v=old), kind.later.format(v=new)
    name = f"{language.code} {kind.name}"
    found = await memory.recall(kind.question, _PLACES, OWNER)
    contents = [entry.content for entry in found]
    counts[0].count(name, is_right=contents[:1] == [later] and earlier not in contents)
    asked = language.past.format(q=kind.question)
    past = await memory.with_former(await memory.recall(asked, _PLACES, OWNER), asked)
    counts[1].count(name, is_right=any(_is_told_as_old(one, earlier) for one in past))


def _is_told_as_old(entry: MemoryEntry, content: str) -> bool:
    return entry.content == content and entry.until_s == LATER_S


async def _kept(brain: BenchBrain) -> list[Row]:
    kept, invented = Counted(), Counted()
    for language in languages():
        with tempfile.TemporaryDirectory(prefix="barnacle-bench-") as folder:
            told = Told(Path(folder), brain)
            facts = [
                *(kind.first.format(v=pair[0]) for kind in language.kinds for pair in kind.pairs),
                *language.lasting,
            ]
            for text in (*facts, *language.talk):
                await told.tell(text, "home", FIRST_S)
            found = {
                entry.content async for entry in told.memory.entries() if entry.category == CORE
            }
            for text in facts:
                kept.count(f"{language.code} {text}", is_right=text in found)
            for text in found:
                invented.count(text, is_right=text in facts)
            await told.memory.aclose()
    wrong = len(invented.wrong)
    return [
        Row(
            f"facts kept at once of {kept.of} short household messages, six languages",
            f">= {KEPT_BAR:g} %, 0 invented",
            f"{kept.share:.1f} % ({kept.text()}), {wrong} invented",
            f"among {sum(len(one.talk) for one in languages())} that tell nothing",
            kept.share >= KEPT_BAR and not wrong,
        )
    ]
