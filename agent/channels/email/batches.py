"""Letters put together for one command each, and those that a server did not hand out.

Some servers hang up over a letter that they cannot read themselves, at every try. It is asked for
alone then, its header at last, and is passed over in the end: it must not hold up all later ones.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

_log = logging.getLogger(__name__)

MAX_LETTER_BYTES = 30 * 1024 * 1024
# Fetched with one command: the answer to a letter waits for the others, and they for its memory
MAX_BATCH_LETTERS = 10
MAX_BATCH_BYTES = 512 * 1024
# Refusals of a letter before its header alone is asked for, and again before it is passed over: a
# server that is short of something for a while gives it by then
MAX_LOST = 3


class EmailBatch(Struct, frozen=True):
    """Letters that are fetched with one command."""

    uids: tuple[int, ...]
    is_whole: bool


class LostLetters:
    """Refusals of the server to hand out a letter, by the letter's number."""

    def __init__(self) -> None:
        self._lost: Counter[int] = Counter()

    def note(self, uids: Iterable[int]) -> None:
        for uid in uids:
            self._lost[uid] += 1
            if self._lost[uid] == 2 * MAX_LOST:
                _log.warning("email: letter passed over, the server does not give it (uid=%d)", uid)

    def forget(self, uids: Iterable[int]) -> None:
        for uid in uids:
            self._lost.pop(uid, None)

    def of(self, uid: int) -> int:
        return self._lost[uid]


def batches(sizes: Sequence[tuple[int, int]], lost: LostLetters) -> list[EmailBatch]:
    """Put letters together in their order; a large one, or one that was lost, comes alone.

    Args:
        sizes: number and size of each.
    """
    found: list[EmailBatch] = []
    left_bytes = 0
    for uid, size in sizes:
        tries = lost.of(uid)
        if tries >= 2 * MAX_LOST:
            continue
        is_whole = size <= MAX_LETTER_BYTES and tries < MAX_LOST
        last = found[-1].uids if found else ()
        if is_whole and not tries and size <= left_bytes and len(last) < MAX_BATCH_LETTERS:
            found[-1] = EmailBatch((*last, uid), is_whole)
            left_bytes -= size
        else:
            found.append(EmailBatch((uid,), is_whole))
            left_bytes = MAX_BATCH_BYTES - size if is_whole and not tries else 0
    return found
