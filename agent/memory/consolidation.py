"""Consolidation: messages become memories, and a model draws facts from them.

Messages are kept as soon as they are answered. Facts are drawn now and then, in batches of one
person and one trust, so that nobody's words lend theirs to another's; the facts of a batch can be
undone together. What the model misses, and everything without a model, stays in the person's words.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from agent.errors import BarnacleError, ProviderError
from agent.memory.base import (
    CONVERSATION,
    CORE,
    FROM_CHAT,
    Chronicled,
    Curated,
    HeardMessage,
    KeepsMessages,
    Memory,
    MemoryEntry,
    SaidMemory,
    Scope,
)
from agent.memory.grounding import is_grounded
from agent.memory.keys import key_of
from agent.memory.message_facts import (
    INSTRUCTION,
    Fact,
    Unusable,
    facts_of,
    is_about_the_last,
    is_standing,
    question,
)
from agent.memory.telling import (
    MAX_MESSAGE_CHARS,
    batches,
    is_stated,
    is_still_kept,
    says_something,
    trusted,
    was_stored,
)
from agent.messages import ChatMessage, Provenance
from agent.passage import outside, own
from agent.providers.base import ChatRequest, Provider
from agent.storage.files import write_atomic
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# How soon somebody who has stopped talking is thought about
LOOK_S = 600.0
# Messages read at a time
MOST_READ = 100
# Ten facts of a model that writes slowly
MODEL_TIMEOUT_S = 120.0
MAX_TOKENS = 1500
# What a turn stores of one message
LATELY_STORED = 5
# A batch that no answer fits is left as it is
MAX_ATTEMPTS = 3


# The next messages after an id, oldest first
Listen = Callable[[int, int], Awaitable[Sequence[HeardMessage]]]


class _Progress(msgspec.Struct, frozen=True):
    """Progress of consolidation; `attempts` on the next batch."""

    kept: int = 0
    drawn: int = 0
    attempts: int = 0


class Consolidation:
    """Turns messages into memories.

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
        # Keeping and drawing both write the progress
        self._turn = asyncio.Lock()
        self._heard = asyncio.Event()
        self._listen = listen
        self._memory = memory
        self._keeper = memory if isinstance(memory, KeepsMessages) else None
        self._provider = provider
        self._state_file = state_file
        self._progress: _Progress | None = None
        # The last message of this run that the memory has kept by its number
        self._noted: int | None = None
        self._clock = clock

    async def run(self) -> None:
        """Keep messages at once and draw facts from time to time until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_at_once())
            while True:
                await self._clock.sleep(LOOK_S)
                await self._tried(self.catch_up)

    def hear(self) -> None:
        """Note that a message was answered: it is kept now."""
        self._heard.set()

    async def _keep_at_once(self) -> None:
        while True:
            await self._heard.wait()
            self._heard.clear()
            await self._tried(self.keep)

    async def _tried(self, work: Callable[[], Awaitable[int]]) -> None:
        try:
            await work()
        except (BarnacleError, sqlite3.Error, OSError) as err:
            _log.warning("memory: consolidation postponed: %s", err)

    async def keep(self) -> int:
        """Keep all new messages; return how many were read.

        Raises:
            MemoryUnavailable: what was not done is done next time.
            StorageFull: as above.
        """
        async with self._turn:
            progress = await self._still_kept(await self._loaded())
            read = 0
            while heard := await self._listen(progress.kept, MOST_READ):
                stored = [await self._keep(one) for one in heard]
                progress = msgspec.structs.replace(progress, kept=heard[-1].heard_id)
                if any(stored):
                    await self._save(progress)
                # Most messages leave nothing: to read them again is cheaper than to write each down
                self._progress = progress
                read += len(heard)
                if len(heard) < MOST_READ:
                    # All there were; whoever answers another says so
                    break
            return read

    async def catch_up(self) -> int:
        """Process all new messages; return the number of new facts.

        Raises:
            MemoryUnavailable: what was not done is done next time.
            StorageFull: as above.
        """
        await self.keep()
        async with self._turn:
            return await self._draw_all()

    async def _draw_all(self) -> int:
        progress = await self._loaded()
        facts = 0
        while heard := await self._listen(progress.drawn, MOST_READ):
            drawn, progress = await self._draw(heard, progress)
            facts += drawn
            if progress.drawn < heard[-1].heard_id:
                break
        return facts

    async def _keep(self, heard: HeardMessage) -> bool:
        """Return true if the progress must be noted: the memory may have changed, and does not."""
        if not says_something(heard.text):
            return False
        if is_about_the_last(heard):
            await self._pin_the_last(heard)
            return True
        scopes = [Scope(heard.person, heard.conversation)]
        if heard.group is not None:
            # Whoever was there heard it: it is the group's beside being the person's
            scopes.append(Scope(None, heard.conversation, heard.group))
        said = [self._said(heard, scope) for scope in scopes if await self._is_new(heard, scope)]
        if self._keeper is not None:
            await self._keeper.keep(heard.heard_id, said)
            self._noted = heard.heard_id
            return False
        for one in said:
            await self._store(one, heard)
        return True

    async def _is_new(self, heard: HeardMessage, scope: Scope) -> bool:
        known, newest = await self._held(key_of(heard.text[:MAX_MESSAGE_CHARS]), scope)
        if known is not None:
            # It is known already, perhaps as a fact, which is worth more
            return False
        return is_standing(heard) or not was_stored(heard, newest)

    async def _held(
        self, key: str, scope: Scope
    ) -> tuple[MemoryEntry | None, Sequence[MemoryEntry]]:
        """Return the memory of that key, and what was stored lately."""
        if self._keeper is not None:
            return await self._keeper.held(key, scope, LATELY_STORED)
        known = await self._memory.get(key, scope)
        anywhere = replace(scope, session=None)
        return known, await self._memory.list(anywhere, None, LATELY_STORED)

    def _said(self, heard: HeardMessage, scope: Scope) -> SaidMemory:
        return SaidMemory(
            heard.text[:MAX_MESSAGE_CHARS],
            # What is so for long outlives the conversation; a model may word it better
            CORE if self._lasts(heard, scope) else CONVERSATION,
            scope,
            trusted(heard),
            heard.at_s,
            pinned=scope.person is not None
            and is_standing(heard)
            and trusted(heard) >= Provenance.USER,
        )

    async def _store(self, said: SaidMemory, heard: HeardMessage) -> None:
        """Store it in a memory that keeps step by step."""
        entry = await self._memory.store(
            "",
            said.content,
            category=said.category,
            scope=said.scope,
            provenance=said.provenance,
            source=FROM_CHAT,
        )
        await self._settle(entry, heard)
        if said.pinned:
            await self._pin(entry)

    async def _pin_the_last(self, heard: HeardMessage) -> None:
        """Pin what the person said right before it in the same conversation."""
        said = await self._memory.list(Scope(heard.person, heard.conversation), None, 1)
        if said and said[0].scope.person == heard.person:
            await self._pin(said[0])

    async def _pin(self, entry: MemoryEntry) -> None:
        if isinstance(self._memory, Curated) and entry.provenance >= Provenance.USER:
            await self._memory.mark(entry.key, entry.scope, pinned=True)

    def _lasts(self, heard: HeardMessage, scope: Scope) -> bool:
        # A person's facts are drawn by the model where there is one; nobody draws a group's
        is_drawn = self._provider is not None and scope.person is not None
        return is_standing(heard) or (not is_drawn and is_stated(heard))

    async def _draw(
        self, heard: Sequence[HeardMessage], progress: _Progress
    ) -> tuple[int, _Progress]:
        """Draw facts batch by batch while the model answers."""
        facts = 0
        for batch in batches(heard):
            last = batch[-1].heard_id
            try:
                facts += await self._draw_batch(batch)
            except ProviderError as err:
                _log.info("memory: facts postponed: %s", err)
                return facts, progress
            except Unusable as err:
                attempts = progress.attempts + 1
                _log.warning("memory: the model's facts are unusable: %s", err)
                if attempts < MAX_ATTEMPTS:
                    progress = msgspec.structs.replace(progress, attempts=attempts)
                    return facts, await self._save(progress)
            progress = await self._save(_Progress(progress.kept, last))
        return facts, progress

    async def _draw_batch(self, batch: Sequence[HeardMessage]) -> int:
        said = [one for one in batch if says_something(one.text)]
        telling = [one for one in said if await is_still_kept(self._memory, one)]
        if self._provider is None or not telling:
            return 0
        texts = [one.text[:MAX_MESSAGE_CHARS] for one in telling]
        provenance = min(trusted(one) for one in telling)
        answer = await _asked(self._provider, texts, provenance)
        source = f"{FROM_CHAT}#{batch[0].heard_id}-{batch[-1].heard_id}"
        stored = 0
        facts = facts_of(answer, texts, provenance)
        for fact in facts:
            stored += await self._learn(fact, _heard_in(fact, telling), source)
        for one in telling:
            # What the model has missed stays in the person's own words
            if is_stated(one) and not any(is_grounded(fact.content, [one.text]) for fact in facts):
                await self._promote(one)
        return stored

    async def _promote(self, heard: HeardMessage) -> None:
        """Keep a message beyond its conversation."""
        scope = Scope(heard.person, heard.conversation)
        entry = await self._memory.get(key_of(heard.text), scope)
        if entry is None or entry.category != CONVERSATION:
            return
        await self._memory.restore(replace(entry, category=CORE))

    async def _learn(self, fact: Fact, heard: HeardMessage, source: str) -> bool:
        """Store the fact; return true if it is new. A known one keeps its source and trust."""
        # What was said in a group may be told there again
        scope = Scope(heard.person, None if heard.group is None else heard.conversation)
        if await self._memory.get(key_of(fact.content), scope) is not None:
            return False
        entry = await self._memory.store(
            "",
            fact.content,
            category=fact.category,
            scope=scope,
            provenance=fact.provenance,
            source=source,
        )
        await self._settle(entry, heard)
        return True

    async def _settle(self, entry: MemoryEntry, heard: HeardMessage) -> None:
        """Give a memory the time at which it was said, and close what it contradicts."""
        if heard.at_s is not None and isinstance(self._memory, Curated):
            await self._memory.mark(entry.key, entry.scope, said_at_s=heard.at_s)
        if isinstance(self._memory, Chronicled):
            await self._memory.settle(entry)

    async def _loaded(self) -> _Progress:
        if self._progress is None:
            self._progress = await self._begun()
        return self._progress

    async def _still_kept(self, progress: _Progress) -> _Progress:
        """Return the progress without what a full disk took back since."""
        if self._keeper is None or self._noted is None:
            return progress
        kept = await self._keeper.kept_until()
        if kept is None or kept >= self._noted:
            return progress
        return msgspec.structs.replace(progress, kept=kept)

    async def _begun(self) -> _Progress:
        """Return the progress; without its file all facts are drawn again."""
        found = await asyncio.to_thread(_load, self._state_file)
        progress = found or _Progress()
        if self._keeper is not None and (kept := await self._keeper.kept_until()) is not None:
            # What a power cut took from the memory is kept again, and what was forgotten is not
            progress = msgspec.structs.replace(progress, kept=kept)
        return progress if found is not None else await self._save(progress)

    async def _save(self, progress: _Progress) -> _Progress:
        if self._keeper is not None:
            # Small talk leaves nothing but this
            await self._keeper.keep(progress.kept, ())
        content = msgspec.json.encode(progress)
        await asyncio.to_thread(write_atomic, self._state_file, content)
        self._progress = progress
        return progress


async def _asked(provider: Provider, texts: Sequence[str], trust: Provenance) -> str:
    request = ChatRequest(
        (
            ChatMessage.system(own(INSTRUCTION)),
            ChatMessage.user(outside(question(texts), trust)),
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
        raise ProviderError("the language model cannot be reached")
    return response.text


def _heard_in(fact: Fact, telling: Sequence[HeardMessage]) -> HeardMessage:
    """Return the message that says the fact; the last one if none does."""
    return next((one for one in telling if is_grounded(fact.content, [one.text])), telling[-1])


def _load(path: Path) -> _Progress | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Progress)
    except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
        return None
