"""From what was said to what is known: messages become memories, and a model draws facts of them.

In batches of one person and one trust, so that nobody's words lend theirs to another's. Messages
are kept beside the facts; the facts of a batch can be undone together. Without a language model
the messages are kept and no facts are drawn.
"""

import asyncio
import itertools
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from agent.clock import Clock
from agent.errors import BarnacleError, ProviderError
from agent.memory import extraction
from agent.memory.base import CONVERSATION, FROM_CHAT, Heard, Memory, Scope
from agent.memory.keys import key_of
from agent.messages import ChatMessage
from agent.passage import Provenance, outside, own
from agent.providers.base import ChatRequest, Provider
from agent.storage.files import write_atomic

_log = logging.getLogger(__name__)

# How soon somebody who has stopped talking is thought about
LOOK_S = 600.0
# Messages read at a time, and put before a model at a time
MOST_READ = 100
BATCH_MESSAGES = 20
BATCH_CHARS = 6000
# Longer ones are cut: a fact is a sentence
MAX_MESSAGE_CHARS = 2000
# Shorter ones say "yes" and "thanks"; scripts without spaces say more with less
MIN_CHARS, MIN_CHARS_WITHOUT_SPACES = 20, 8
# Ten facts of a model that writes slowly
MODEL_TIMEOUT_S = 120.0
MAX_TOKENS = 1500
# A batch that no answer fits is left as it is
MAX_ATTEMPTS = 3


# The next messages after an id, oldest first
Listen = Callable[[int, int], Awaitable[Sequence[Heard]]]


class _Progress(msgspec.Struct, frozen=True):
    """Progress of consolidation; `attempts` on the next batch."""

    kept: int = 0
    drawn: int = 0
    attempts: int = 0


class Consolidation:
    """Remembers what was said.

    Args:
        provider: None keeps messages and draws no facts.
        state_file: how far it has come.
    """

    def __init__(
        self,
        listen: Listen,
        memory: Memory,
        provider: Provider | None,
        state_file: Path,
        clock: Clock,
    ) -> None:
        self._listen = listen
        self._memory = memory
        self._provider = provider
        self._state_file = state_file
        self._clock = clock

    async def run(self) -> None:
        """Do what there is from time to time; until cancelled."""
        while True:
            await self._clock.sleep(LOOK_S)
            try:
                await self.catch_up()
            except (BarnacleError, sqlite3.Error, OSError) as err:
                _log.warning("what was said is not remembered yet: %s", err)

    async def catch_up(self) -> int:
        """Keep and draw from everything that was said; the number of new facts.

        Raises:
            MemoryUnavailable: what was not done is done next time.
            StorageFull: as above.
        """
        progress = await asyncio.to_thread(_load, self._state_file)
        while heard := await self._listen(progress.kept, MOST_READ):
            for one in heard:
                await self._keep(one)
            progress = await self._save(msgspec.structs.replace(progress, kept=heard[-1].heard_id))
        facts = 0
        while heard := await self._listen(progress.drawn, MOST_READ):
            drawn, progress = await self._draw(heard, progress)
            facts += drawn
            if progress.drawn < heard[-1].heard_id:
                break
        return facts

    async def _keep(self, heard: Heard) -> None:
        if not _says_something(heard.text):
            return
        text = heard.text[:MAX_MESSAGE_CHARS]
        scope = Scope(heard.person, heard.conversation)
        if await self._memory.get(key_of(text), scope) is not None:
            # It is known already, perhaps as a fact, which is worth more
            return
        await self._memory.store(
            "",
            text,
            category=CONVERSATION,
            scope=scope,
            provenance=_trust(heard),
            source=FROM_CHAT,
        )

    async def _draw(self, heard: Sequence[Heard], progress: _Progress) -> tuple[int, _Progress]:
        """Facts of these messages, batch by batch, as far as the model answers."""
        facts = 0
        for batch in _batches(heard):
            last = batch[-1].heard_id
            try:
                facts += await self._draw_batch(batch)
            except ProviderError as err:
                _log.info("no facts are drawn now: %s", err)
                return facts, progress
            except extraction.Unusable as err:
                attempts = progress.attempts + 1
                _log.warning("the model drew no usable facts: %s", err)
                if attempts < MAX_ATTEMPTS:
                    progress = msgspec.structs.replace(progress, attempts=attempts)
                    return facts, await self._save(progress)
            progress = await self._save(_Progress(progress.kept, last))
        return facts, progress

    async def _draw_batch(self, batch: Sequence[Heard]) -> int:
        telling = [one for one in batch if _says_something(one.text)]
        if self._provider is None or not telling:
            return 0
        texts = [one.text[:MAX_MESSAGE_CHARS] for one in telling]
        provenance = min(_trust(one) for one in telling)
        answer = await _asked(self._provider, texts, provenance)
        source = f"{FROM_CHAT}#{batch[0].heard_id}-{batch[-1].heard_id}"
        stored = 0
        for fact in extraction.facts_of(answer, texts, provenance):
            stored += await self._learn(fact, batch[0].person, source)
        return stored

    async def _learn(self, fact: extraction.Fact, person: str, source: str) -> bool:
        """Store the fact; return true if it is new. A known one keeps its source and trust."""
        scope = Scope(person)
        if await self._memory.get(key_of(fact.content), scope) is not None:
            return False
        await self._memory.store(
            "",
            fact.content,
            category=fact.category,
            scope=scope,
            provenance=fact.provenance,
            source=source,
        )
        return True

    async def _save(self, progress: _Progress) -> _Progress:
        content = msgspec.json.encode(progress)
        await asyncio.to_thread(write_atomic, self._state_file, content)
        return progress


async def _asked(provider: Provider, texts: Sequence[str], trust: Provenance) -> str:
    request = ChatRequest(
        (
            ChatMessage.system(own(extraction.INSTRUCTION)),
            ChatMessage.user(outside(extraction.question(texts), trust)),
        ),
        temperature=0.0,
        max_tokens=MAX_TOKENS,
    )
    try:
        async with asyncio.timeout(MODEL_TIMEOUT_S):
            response = await provider.chat(request)
    except TimeoutError as err:
        raise ProviderError(f"no answer within {MODEL_TIMEOUT_S:.0f} s") from err
    if response.heeds_only_this_turn:
        raise ProviderError("the language model is out of reach")
    return response.text


def _batches(heard: Sequence[Heard]) -> Iterator[list[Heard]]:
    """Runs of one person and one trust, none longer than a model should read at once."""
    for _, run in itertools.groupby(heard, key=lambda one: (one.person, _trust(one))):
        batch: list[Heard] = []
        for one in run:
            chars = sum(min(len(other.text), MAX_MESSAGE_CHARS) for other in [*batch, one])
            if batch and (len(batch) == BATCH_MESSAGES or chars > BATCH_CHARS):
                yield batch
                batch = []
            batch.append(one)
        yield batch


def _trust(heard: Heard) -> Provenance:
    return extraction.trust_of(heard.text, heard.provenance)


def _says_something(text: str) -> bool:
    shortest = MIN_CHARS if text.isascii() else MIN_CHARS_WITHOUT_SPACES
    return len(text.strip()) >= shortest and not text.lstrip().startswith("/")


def _load(path: Path) -> _Progress:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Progress)
    except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
        return _Progress()
