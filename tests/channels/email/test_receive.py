from agent.channels.email.receive import (
    MAX_BATCH_BYTES,
    MAX_BATCH_LETTERS,
    MAX_LETTER_BYTES,
    _batches,
)


def put(*sizes: int) -> list[tuple[list[int], bool]]:
    return [(list(one.uids), one.is_whole) for one in _batches(list(enumerate(sizes)))]


def test_small_letters_come_together_and_large_ones_alone() -> None:
    assert put(1, 2, 3) == [([0, 1, 2], True)]
    half = MAX_BATCH_BYTES // 2
    assert put(half, half, 1) == [([0, 1], True), ([2], True)]
    assert put(1, MAX_BATCH_BYTES, 1) == [([0], True), ([1], True), ([2], True)]
    assert put() == []


def test_of_what_is_too_large_the_header_alone_comes() -> None:
    assert put(1, MAX_LETTER_BYTES + 1, 1) == [([0], True), ([1], False), ([2], True)]


def test_no_batch_grows_without_end() -> None:
    assert len(put(*[1] * (2 * MAX_BATCH_LETTERS))) == 2
