"""Store of the people with access, their accounts, and the groups that are read.

One file that a person can read. It is looked at again whenever it has changed, so that what another
process says of somebody holds from the next message on. What cannot be read in it is nobody.
"""

import contextlib
import secrets
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from agent.access.roles import HasRole, PersonRole
from agent.errors import BadArguments, StorageFull
from agent.storage.documents import open_documents, with_rows
from agent.storage.lock import locked
from agent.system.clock import Clock
from agent.text.printable import printable_line

if TYPE_CHECKING:
    from tinydb import TinyDB

# Memories of the person at the device are kept under this name too
OWNER_ID = "owner"
# Channel whose accounts are browsers: each is known by the hash of its cookie, and ends by itself
BROWSERS = "console"
BROWSER_SESSION_S = 30 * 86_400.0
# Telephones, tablets and computers of one person; the oldest goes
MAX_BROWSERS = 20
MAX_NAME_CHARS = 40
# A household and its friends; more would be a mistake, and every message looks through them
MAX_PEOPLE = 200
_ID_BYTES = 4
_PEOPLE, _GROUPS = "people", "groups"

T = TypeVar("T")


class PersonAccount(msgspec.Struct, frozen=True, kw_only=True):
    """Account that a person writes from.

    Args:
        sender: the platform's stable id; never what somebody is called there.
        target: their private chat.
    """

    channel: str
    sender: str
    target: str
    paired_at_s: float = 0.0

    @property
    def is_browser(self) -> bool:
        return self.channel == BROWSERS

    def stands(self, now_s: float) -> bool:
        """Return true while the account counts; a clock set back ends nothing."""
        return not self.is_browser or now_s - self.paired_at_s < BROWSER_SESSION_S


class Person(HasRole, frozen=True, kw_only=True):
    """Somebody who was let in, on all their accounts."""

    person_id: str
    name: str
    accounts: tuple[PersonAccount, ...] = ()


class PairedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group in which the owner said that it is listened to."""

    channel: str
    target: str


class PeopleStore:
    """All who were let in."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._seen: tuple[int, int, int] | None = None
        self._people: tuple[Person, ...] = ()
        self._groups: frozenset[PairedGroup] = frozenset()
        # The reason why the file cannot be read, so that nobody is let in; usually empty
        self.unread = ""

    def everyone(self) -> Sequence[Person]:
        self._look()
        return self._people

    def find(self, channel: str, sender: str) -> Person | None:
        """Return the person with that account."""
        now_s = self._clock.wall_s()
        for person in self.everyone():
            for one in person.accounts:
                if (one.channel, one.sender) == (channel, sender) and one.stands(now_s):
                    return person
        return None

    def owner(self) -> Person | None:
        return next((one for one in self.everyone() if one.rank is PersonRole.OWNER), None)

    def named(self, name: str) -> Person:
        """By name or id; a name that only looks like theirs is theirs where nobody else's does.

        Raises:
            BadArguments: there is nobody of that name, or it may be one of several.
        """
        from agent.text.lookalike import folded, looks  # noqa: PLC0415 - no message names people

        wanted, look = folded(name), looks(name)
        for one in self.everyone():
            if wanted in {one.person_id.casefold(), folded(one.name)}:
                return one
        alike = [one for one in self.everyone() if look & looks(one.name)]
        if len(alike) == 1:
            return alike[0]
        if alike:
            ids = ", ".join(f"{one.person_id} ({one.role})" for one in alike)
            raise BadArguments(f"several names look like {name!r}: use one of the ids {ids}")
        known = ", ".join(one.name for one in self.everyone()) or "nobody yet"
        raise BadArguments(f"nobody with access is called {name!r}; known: {known}")

    def listens_in(self, channel: str, target: str) -> bool:
        self._look()
        return PairedGroup(channel=channel, target=target) in self._groups

    def groups(self) -> Sequence[PairedGroup]:
        self._look()
        return sorted(self._groups, key=lambda one: (one.channel, one.target))

    def let_in(
        self,
        rank: PersonRole,
        account: PersonAccount,
        name: str = "",
        person_id: str = "",
        reserved: Collection[str] = (),
    ) -> Person:
        """Make the account that of a new person, or one more of the person with that id.

        The owner is one person: a further account of theirs is no second owner.

        Args:
            reserved: names that a new person does not get, besides those of others.

        Raises:
            BadArguments: nobody has that id any more.
            StorageFull: nothing was changed.
        """
        with self._changing() as documents:
            before = _read(documents, _PEOPLE, Person)
            everyone = [_without(one, account) for one in before]
            known_id = OWNER_ID if rank is PersonRole.OWNER else person_id
            there = next((one for one in everyone if one.person_id == known_id), None)
            # Whoever had no account before waits for another one
            others = [
                one
                for one, was in zip(everyone, before, strict=True)
                if one is not there and (one.accounts or not was.accounts)
            ]
            if there is None and person_id:
                raise BadArguments("whoever that was for no longer has access")
            if len(others) >= MAX_PEOPLE:
                raise StorageFull(f"{MAX_PEOPLE} people have access already; remove somebody first")
            person = there or _newcomer(rank, name, others, reserved)
            account = msgspec.structs.replace(account, paired_at_s=self._clock.wall_s())
            kept = _lasting(person.accounts, account.paired_at_s)
            person = msgspec.structs.replace(person, accounts=(*kept, account))
            _write(documents, _PEOPLE, Person, [*others, person])
        return person

    def revoke(self, person: Person) -> None:
        """Nobody from the next message on."""
        with self._changing() as documents:
            kept = [
                one
                for one in _read(documents, _PEOPLE, Person)
                if one.person_id != person.person_id
            ]
            _write(documents, _PEOPLE, Person, kept)

    def forget_account(self, channel: str, sender: str) -> bool:
        """End one account; its person stays. Return false if there is none.

        Raises:
            StorageFull: nothing was changed.
        """
        gone = PersonAccount(channel=channel, sender=sender, target="")
        with self._changing() as documents:
            before = _read(documents, _PEOPLE, Person)
            kept = [_without(one, gone) for one in before]
            if kept == before:
                return False
            _write(documents, _PEOPLE, Person, kept)
        return True

    def listen_in(self, group: PairedGroup, *, wanted: bool) -> None:
        """Start or stop reading a group."""
        with self._changing() as documents:
            kept = [one for one in _read(documents, _GROUPS, PairedGroup) if one != group]
            _write(documents, _GROUPS, PairedGroup, [*kept, *([group] if wanted else [])])

    @contextlib.contextmanager
    def _changing(self) -> Iterator["TinyDB"]:
        """Nobody else changes the file meanwhile, in this process or another."""
        with locked(self._path):
            yield open_documents(self._path)
        self._seen = None

    def _look(self) -> None:
        stamp = _stamp(self._path)
        if stamp == self._seen and stamp is not None:
            return
        self._people, self._groups, self._seen, self.unread = (), frozenset(), None, ""
        # A file that may not be read lets nobody in, and is tried again
        try:
            documents = open_documents(self._path)
            self._people = tuple(_read(documents, _PEOPLE, Person))
            self._groups = frozenset(_read(documents, _GROUPS, PairedGroup))
            self._seen = stamp
        except OSError as err:
            self.unread = err.strerror or str(err)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Another one after every change: a change replaces the file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _read(documents: "TinyDB", table: str, kind: type[T]) -> list[T]:
    rows = (documents.storage.read() or {}).get(table)
    read = (_converted(row, kind) for row in (rows.values() if isinstance(rows, dict) else ()))
    return [one for one in read if one is not None]


def _converted(row: object, kind: type[T]) -> T | None:
    try:
        return msgspec.convert(row, kind)
    except msgspec.ValidationError:
        return None


def _write(documents: "TinyDB", table: str, kind: type[T], rows: Sequence[T]) -> None:
    """All rows of a table in one write: a cut leaves the old ones or the new ones."""
    tables = documents.storage.read() or {}
    built = [msgspec.to_builtins(row) for row in rows]
    written = with_rows(tables, table, built, lambda row: _converted(row, kind) is not None)
    documents.storage.write(written)


def _without(person: Person, account: PersonAccount) -> Person:
    """An account is one person's: whoever had it has it no more."""
    here = (account.channel, account.sender)
    kept = tuple(one for one in person.accounts if (one.channel, one.sender) != here)
    return msgspec.structs.replace(person, accounts=kept)


def _lasting(accounts: Sequence[PersonAccount], now_s: float) -> Sequence[PersonAccount]:
    """Return the accounts beside which a new one has its place."""
    browsers = [one for one in accounts if one.is_browser and one.stands(now_s)]
    newest = browsers[1 - MAX_BROWSERS :]
    return [one for one in accounts if not one.is_browser or one in newest]


def _newcomer(
    rank: PersonRole, name: str, others: Sequence[Person], reserved: Collection[str]
) -> Person:
    if rank is PersonRole.OWNER:
        return Person(person_id=OWNER_ID, name=OWNER_ID, role=rank.role)
    person_id = f"p{secrets.token_hex(_ID_BYTES)}"
    taken = {*reserved, *(word for one in others for word in (one.name, one.person_id))}
    return Person(person_id=person_id, name=_free_name(name or rank.role, taken), role=rank.role)


def _free_name(wanted: str, taken: Collection[str]) -> str:
    """Return a name that looks like nobody else's: people are addressed and removed by it."""
    from agent.text.lookalike import looks, plain_name  # noqa: PLC0415 - few are let in

    name = plain_name(printable_line(wanted, MAX_NAME_CHARS)) or "somebody"
    unfree = frozenset[str]().union(*map(looks, (OWNER_ID, *taken)))
    names = (name, *(f"{name} {number}" for number in range(2, len(unfree) + 3)))
    return next(free for free in names if not looks(free) & unfree)
