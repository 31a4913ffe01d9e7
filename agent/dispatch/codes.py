"""One-time codes by which somebody is let in: shown once, kept as hashes, gone when used or late.

A code says what it makes of whoever writes it. It may be used by anybody who has it, once.
"""

import contextlib
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from pathlib import Path

import msgspec

from agent.clock import Clock
from agent.dispatch.rank import Ranked
from agent.storage.documents import open_documents
from agent.storage.lock import locked

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


class Invitation(Ranked, frozen=True, kw_only=True):
    """What a code is for.

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
        """What the code was for; from now on it is for nothing.

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
