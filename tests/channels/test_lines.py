import asyncio
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import given
from hypothesis import strategies as st

from agent.channels.lines import MAX_LINE_BYTES, PipeLines


@contextmanager
def piped(content: bytes) -> Iterator[PipeLines]:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        writer = threading.Thread(target=lambda: (pipe.write(content), pipe.close()))
        writer.start()
        try:
            yield PipeLines(reading)
        finally:
            writer.join()
            os.close(reading)


async def all_lines(lines: PipeLines) -> list[str]:
    read: list[str] = []
    while (line := await lines.read("unused")) is not None:
        read.append(line)
    return read


async def test_lines_come_one_by_one_with_or_without_a_last_end() -> None:
    with piped(b"one\r\ntwo\n\nthree") as lines:
        assert await all_lines(lines) == ["one", "two", "", "three"]


async def test_bytes_that_are_no_text_are_replaced() -> None:
    with piped(b"\xff\xfe led\n") as lines:
        assert await all_lines(lines) == ["\ufffd\ufffd led"]


async def test_an_endless_line_is_cut_and_the_next_one_is_whole() -> None:
    with piped(b"x" * (MAX_LINE_BYTES * 2) + b"\nnext\n") as lines:
        first, second = await all_lines(lines)
    assert len(first) == MAX_LINE_BYTES
    assert second == "next"


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))))
def test_what_was_written_is_what_is_read(written: list[str]) -> None:
    with piped("".join(f"{line}\n" for line in written).encode()) as lines:
        assert asyncio.run(all_lines(lines)) == written


async def test_a_line_typed_after_its_reader_gave_up_is_the_next_readers() -> None:
    reading, writing = os.pipe()
    lines = PipeLines(reading)
    try:
        try:
            async with asyncio.timeout(0.05):
                await lines.read("question")
        except TimeoutError:
            os.write(writing, b"later\n")
        assert await lines.read("next") == "later"
    finally:
        os.close(writing)
        os.close(reading)


def test_a_terminal_is_left_as_it_was_found() -> None:
    script = (
        "import asyncio, termios, sys\n"
        "from agent.channels.lines import TerminalLines\n"
        "before = termios.tcgetattr(0)\n"
        "lines = TerminalLines(None, 0)\n"
        "print('got', asyncio.run(lines.read('> ')))\n"
        "lines.close()\n"
        "print('same', before == termios.tcgetattr(0))\n"
    )
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=follower, stdout=subprocess.PIPE, stderr=follower
    )
    os.write(leader, b"hello\n")
    output = process.communicate(timeout=10)[0].decode()
    os.close(leader)
    os.close(follower)
    assert "got hello" in output
    assert "same True" in output
