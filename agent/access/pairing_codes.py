"""One-time codes by which somebody is let in: shown once, kept as hashes, gone when used or late.

A code says what it makes of whoever writes it. It may be used by anybody who has it, once.
"""

import contextlib
import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from agent.access.roles import HasRole
from agent.storage.documents import open_documents
from agent.storage.lock import locked
from agent.system.clock import Clock

# Wrong ones that are free: people mistype
FREE_TRIES = 3
# After them this is waited, doubled with each further one
FIRST_WAIT_S = 30.0
LONGEST_WAIT_S = 3600.0
# Of all together; a household mistypes less, and a stranger must not keep the owner out for long
FREE_TRIES_OF_ALL = 20
LONGEST_WAIT_OF_ALL_S = 60.0
# Whoever has not tried for so long begins anew
FORGOTTEN_AFTER_S = 6 * 3600.0
# Whom it remembers; beyond this the limit of all holds
MAX_REMEMBERED = 500


class _Tries(Struct):
    wrong: int = 0
    last_s: float = 0.0
    until_s: float = 0.0


class Attempts:
    """Counts wrong codes.

    Args:
        longest_s: nobody waits longer for the next try.
        is_first_free: the limit of all is only for those who have tried a wrong one.
    """

    def __init__(
        self, clock: Clock, longest_s: float = LONGEST_WAIT_S, *, is_first_free: bool = False
    ) -> None:
        self._clock = clock
        self._longest_s = longest_s
        self._is_first_free = is_first_free
        self._of: OrderedDict[str, _Tries] = OrderedDict()
        self._all = _Tries()

    def wait_s(self, who: str) -> float:
        """Return the wait until a code of this sender is checked; 0 for now."""
        tries = self._of.get(who)
        if tries is None:
            until_s = 0.0 if self._is_first_free else self._all.until_s
        else:
            until_s = max(tries.until_s, self._all.until_s)
        return max(0.0, until_s - self._clock.monotonic_s())

    def note_wrong(self, who: str) -> None:
        tries = self._of.setdefault(who, _Tries())
        self._of.move_to_end(who)
        if len(self._of) > MAX_REMEMBERED:
            self._of.popitem(last=False)
        self._count(tries, FREE_TRIES, self._longest_s)
        self._count(self._all, FREE_TRIES_OF_ALL, LONGEST_WAIT_OF_ALL_S)

    def forget(self, who: str) -> None:
        """They had the right one."""
        self._of.pop(who, None)
        self._all.wrong = max(0, self._all.wrong - 1)

    def _count(self, tries: _Tries, free: int, longest_s: float) -> None:
        now_s = self._clock.monotonic_s()
        if now_s - tries.last_s > FORGOTTEN_AFTER_S:
            tries.wrong = 0
        tries.wrong += 1
        tries.last_s = now_s
        over = tries.wrong - free
        if over >= 0:
            # The exponent is bounded: it is a number that others count up
            tries.until_s = now_s + min(FIRST_WAIT_S * 2 ** min(over, 10), longest_s)


# Long enough to find the telephone, short enough that a photograph of the screen is worth nothing
CODE_TTL_S = 15 * 60.0
# Without what is mistaken for something else: I, L, O and U
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_MISREAD = str.maketrans({"O": "0", "I": "1", "L": "1", "-": None, " ": None})
# 50 bits: trying all of them against a stolen hash takes a fast machine longer than the code lives
CODE_CHARS = 10
_HALF = CODE_CHARS // 2
_SALT_BYTES = 16
# More open codes are a mistake; the oldest goes
MAX_OPEN = 10
_TABLE = "codes"


class Invitation(HasRole, frozen=True, kw_only=True):
    """Purpose of a code: the role and the name that it gives.

    Args:
        name: what the new person is to be called.
        person_id: whose further account it is, where it is not somebody new.
    """

    name: str = ""
    person_id: str = ""


class _Open(msgspec.Struct, frozen=True, kw_only=True):
    """A code as it is kept.

    Args:
        until_s: of the time since the machine started: a Pi finds out what day it is only later.
    """

    boot: str
    salt: str
    digest: str
    until_s: float
    invitation: Invitation


class Codes:
    """The codes that are open, whoever made them."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def make(self, invitation: Invitation, known: str = "") -> str:
        """A new code, to be shown to a person and to nobody else.

        Args:
            known: one of ours that nobody has used, to count for as long again.

        Raises:
            StorageFull: it could not be kept, so it would be worth nothing.
        """
        code = known.replace("-", "")
        if len(code) != CODE_CHARS or not set(code) <= set(_ALPHABET):
            code = "".join(secrets.choice(_ALPHABET) for _ in range(CODE_CHARS))
        from agent.machine.boot import boot_id  # noqa: PLC0415 - a code needs it, no start

        salt = secrets.token_hex(_SALT_BYTES)
        new = _Open(
            # No code outlives a start of the machine
            boot=boot_id(),
            salt=salt,
            digest=_digest(salt, code),
            until_s=self._clock.monotonic_s() + CODE_TTL_S,
            invitation=invitation,
        )
        with locked(self._path):
            self._write([*self._read(), new][-MAX_OPEN:])
        return f"{code[:_HALF]}-{code[_HALF:]}"

    def spend(self, typed: str) -> Invitation | None:
        """Use up a code and return what it was for; None if it is unknown or late.

        Raises:
            StorageFull: it could not be marked as used, so it was not.
        """
        code = typed.upper().translate(_MISREAD)
        with locked(self._path):
            every = self._read()
            # All of them, whichever fits: the time tells nothing
            fits = [hmac.compare_digest(_digest(one.salt, code), one.digest) for one in every]
            if not any(fits):
                return None
            self._write([one for one, is_it in zip(every, fits, strict=True) if not is_it])
        return every[fits.index(True)].invitation

    def _read(self) -> list[_Open]:
        from agent.machine.boot import boot_id  # noqa: PLC0415 - a code needs it, no start

        rows = (open_documents(self._path).storage.read() or {}).get(_TABLE)
        now_s, boot = self._clock.monotonic_s(), boot_id()
        found = []
        for row in rows.values() if isinstance(rows, dict) else ():
            with contextlib.suppress(msgspec.ValidationError):
                one = msgspec.convert(row, _Open)
                if one.boot == boot and now_s < one.until_s:
                    found.append(one)
        return found

    def _write(self, every: Sequence[_Open]) -> None:
        rows = {str(number): msgspec.to_builtins(one) for number, one in enumerate(every, start=1)}
        open_documents(self._path).storage.write({_TABLE: rows})


def _digest(salt: str, code: str) -> str:
    return hmac.new(salt.encode(), code.encode(), hashlib.sha256).hexdigest()
