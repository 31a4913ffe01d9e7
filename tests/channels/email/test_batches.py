from agent.channels.email.batches import (
    MAX_BATCH_BYTES,
    MAX_BATCH_LETTERS,
    MAX_LETTER_BYTES,
    MAX_LOST,
    EmailBatch,
    LostLetters,
    batches,
)


def put(*sizes: int) -> list[tuple[list[int], bool]]:
    return [
        (list(one.uids), one.is_whole) for one in batches(list(enumerate(sizes)), LostLetters())
    ]


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


def test_what_a_server_does_not_give_comes_alone_then_its_header_then_not_at_all() -> None:
    lost, sizes = LostLetters(), [(1, 9), (2, 9), (3, 9)]
    lost.note([2])
    alone = [EmailBatch((uid,), is_whole=True) for uid in (1, 2, 3)]
    assert batches(sizes, lost) == alone
    for _ in range(MAX_LOST - 1):
        lost.note([2])
    assert batches(sizes, lost)[1] == EmailBatch((2,), is_whole=False)
    for _ in range(MAX_LOST):
        lost.note([2])
    assert batches(sizes, lost) == [EmailBatch((1, 3), is_whole=True)]
    lost.forget([2])
    assert batches(sizes, lost) == [EmailBatch((1, 2, 3), is_whole=True)]
