"""Phrases of people, and the tool calls that each one stood for.

One JSON file that a person can read. Another process may change it: it is read again whenever it
has changed. A sentence belongs to one person; nobody else's words are looked up in it.
"""

import contextlib
import enum
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agent.errors import StorageFull
from agent.storage.documents import open_documents, with_rows
from agent.storage.lock import locked
from agent.system.clock import Clock

if TYPE_CHECKING:
    from tinydb import TinyDB

# A household's habits; the one that was not used for the longest time makes room
MAX_PER_PERSON = 50
# A longer text is no phrase that somebody says again word for word
MAX_PHRASE_CHARS = 200
MAX_PHRASE_CALLS = 8
# What a person says this long after an act may still correct it
CORRECTION_S = 300.0
_PHRASES = "phrases"
# What ends a sentence says nothing; a question mark does
_AROUND = " \t\n.!。,،;:…¡\"'"


# Person, sentence, and when it was used
_Use = tuple[str, str, float]


class PhraseState(enum.Enum):
    """Trust in a phrase."""

    # A model did it and nobody corrected it: the first use without a model asks
    HEARD = "heard"
    # Its person said yes to it
    KNOWN = "known"


class PhraseCall(msgspec.Struct, frozen=True):
    """One call of a tool, as a model wrote it."""

    tool: str
    arguments_json: str


class Phrase(msgspec.Struct, frozen=True, kw_only=True):
    """A phrase of a person, and its calls.

    Args:
        person: whose phrase it is.
        text: as it was said.
        conversation: where it was used last.
        is_last: nothing was said there since.
    """

    person: str
    text: str
    calls: tuple[PhraseCall, ...]
    state: PhraseState = PhraseState.HEARD
    used_s: float = 0.0
    conversation: str = ""
    is_last: bool = True

    @property
    def key(self) -> str:
        """Return the key that the same sentence always has."""
        return phrase_key(self.text)


def phrase_key(text: str) -> str:
    """Return the sentence in lower case without extra spaces and full stop."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).strip(_AROUND)


class Phrases:
    """Phrases of everybody."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._opened: TinyDB | None = None
        self._seen: tuple[int, int, int] | None = None
        self._known: tuple[Phrase, ...] = ()
        # Conversations moved on since these were used, and the file does not say so yet
        self._left: set[_Use] = set()

    @property
    def has_left(self) -> bool:
        """Return true if the file has to be told that a conversation moved on."""
        return bool(self._left)

    def of(self, person: str) -> Sequence[Phrase]:
        """Return a person's phrases, the last used first."""
        mine = [one for one in self.every() if one.person == person]
        return sorted(mine, key=lambda one: -one.used_s)

    def every(self) -> Sequence[Phrase]:
        stamp = _stamp(self._path)
        if stamp is None or stamp != self._seen:
            try:
                self._known, self._seen = (() if stamp is None else self._read()), stamp
            except OSError:
                # A file that may not be read holds nothing, and is tried again
                self._known, self._seen = (), None
        return self._known

    def find(self, person: str, text: str) -> Phrase | None:
        """Return the person's phrase for this sentence."""
        key = phrase_key(text)
        return next((one for one in self.every() if (one.person, one.key) == (person, key)), None)

    def learn(self, phrase: Phrase) -> None:
        """Keep a phrase; the same calls again leave it confirmed.

        Raises:
            StorageFull: nothing was changed.
        """

        def change(known: list[Phrase]) -> list[Phrase]:
            before = next((one for one in known if _is_same(one, phrase)), None)
            same = before is not None and before.calls == phrase.calls
            state = before.state if before is not None and same else phrase.state
            mine = [one for one in known if one.person == phrase.person and one is not before]
            oldest = sorted(mine, key=lambda one: one.used_s)
            spare = oldest[: max(0, len(mine) + 1 - MAX_PER_PERSON)]
            kept = [one for one in known if one is not before and one not in spare]
            used_s = self._clock.wall_s()
            return [*kept, msgspec.structs.replace(phrase, state=state, used_s=used_s)]

        self._change(change)

    def confirm(self, phrase: Phrase, conversation: str) -> None:
        """Confirm a phrase: from now on it runs without a question."""
        self._replace(phrase, conversation, PhraseState.KNOWN)

    def use(self, phrase: Phrase, conversation: str) -> None:
        """Note the use of a phrase; the next message there may correct it."""
        self._replace(phrase, conversation, phrase.state)

    def forget(self, phrase: Phrase) -> None:
        self._change(lambda known: [one for one in known if not _is_same(one, phrase)])

    def forget_person(self, person: str) -> int:
        """Forget all phrases of a person; return how many."""
        gone = len(self.of(person))
        if gone:
            self._change(lambda known: [one for one in known if one.person != person])
        return gone

    def recent(self, person: str, conversation: str) -> Sequence[Phrase]:
        """Return the phrases that the next message there may correct."""
        now_s = self._clock.wall_s()
        return [
            one
            for one in self.of(person)
            if one.conversation == conversation
            # A clock that was set back makes nothing recent for ever
            and (self._is_last(one) or 0 <= now_s - one.used_s <= CORRECTION_S)
        ]

    def leave(self, person: str, conversation: str) -> None:
        """Note that the conversation moved on; the next change writes it, or `keep_left`."""
        recent = self.recent(person, conversation)
        self._left |= {_use(one) for one in recent if self._is_last(one)}

    def keep_left(self) -> None:
        """Write that conversations moved on.

        Raises:
            StorageFull: nothing was changed.
        """
        if self._left:
            self._change(lambda known: known)

    def _is_last(self, one: Phrase) -> bool:
        return one.is_last and _use(one) not in self._left

    def _replace(self, phrase: Phrase, conversation: str, state: PhraseState) -> None:
        changed = msgspec.structs.replace(
            phrase,
            state=state,
            conversation=conversation,
            used_s=self._clock.wall_s(),
            is_last=True,
        )
        self._change(lambda known: [changed if _is_same(one, phrase) else one for one in known])

    def _change(self, change: Callable[[list[Phrase]], list[Phrase]]) -> None:
        with locked(self._path):
            try:
                before = self._read()
            except OSError as err:
                # Written now, it would hold nothing of what it held
                raise StorageFull(f"{self._path} was not changed: {err.strerror}") from err
            left = frozenset(self._left)
            moved_on = [
                msgspec.structs.replace(one, is_last=False) if _use(one) in left else one
                for one in before
            ]
            rows = [msgspec.to_builtins(one) for one in change(moved_on)]
            storage = self._documents().storage
            storage.write(with_rows(storage.read() or {}, _PHRASES, rows, _is_phrase))
            self._left -= left
        self._seen = None

    def _read(self) -> tuple[Phrase, ...]:
        rows = (self._documents().storage.read() or {}).get(_PHRASES)
        return tuple(_sound(rows.values() if isinstance(rows, dict) else ()))

    def _documents(self) -> "TinyDB":
        if self._opened is None:
            self._opened = open_documents(self._path)
        return self._opened


def _sound(rows: Iterable[object]) -> Iterator[Phrase]:
    """Yield the valid rows; anybody may have written the file."""
    for row in rows:
        with contextlib.suppress(msgspec.ValidationError):
            yield msgspec.convert(row, Phrase)


def _use(one: Phrase) -> _Use:
    return one.person, one.key, one.used_s


def _is_phrase(row: object) -> bool:
    return any(_sound([row]))


def _is_same(one: Phrase, other: Phrase) -> bool:
    return (one.person, one.key) == (other.person, other.key)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Return a value that changes with every replacement of the file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
