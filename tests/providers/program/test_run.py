"""A program that hangs, forks, floods or is given up: it ends, with all that it started."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from subprocess import run

import pytest

from agent.errors import TransientProviderError
from agent.providers.base import ChatRequest, ChatResponse, TextDelta
from agent.providers.program.isolation import ProgramIsolation
from agent.providers.reader import RequestTimeouts
from agent.providers.settings import ProgramOutput
from tests.fakes.llm_talk import heard
from tests.fakes.said import user_said
from tests.fakes.sandbox import activated, no_activation, no_bubblewrap
from tests.fakes.scripted_program import LINES, NAP_S, deltas, done, lines, program
from tests.waits import PATIENCE_S, wait_until, wait_until_sync

pytestmark = pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
ASKED = ChatRequest((user_said("hello"),))
NAP = f"sleep {NAP_S}"


def napping() -> bool:
    return run(["pgrep", "-f", f"^{NAP}"], capture_output=True, check=False).returncode == 0


@pytest.fixture(autouse=True)
def _nothing_is_left_over() -> object:
    yield
    wait_until_sync(lambda: not napping())


async def test_a_program_that_says_nothing_is_given_up() -> None:
    silent = program(f"{NAP} & {NAP}", patience=RequestTimeouts(60.0, 0.3))
    shown, ended = await heard(silent)
    assert isinstance(ended, TransientProviderError)
    assert (shown, str(ended)) == ("", "fake-cli was silent for 0 s")


async def test_a_program_that_stops_in_its_answer_is_given_up() -> None:
    stopping = program(f"echo one; {NAP}", patience=RequestTimeouts(60.0, 30.0, 0.3))
    shown, ended = await heard(stopping)
    assert isinstance(ended, TransientProviderError)
    assert shown == "one"


async def test_a_program_that_never_comes_to_an_end_is_given_up() -> None:
    dripping = program("while :; do echo x; sleep 0.05; done", patience=RequestTimeouts(0.5))
    _, ended = await heard(dripping)
    assert isinstance(ended, TransientProviderError)
    assert "longer" in str(ended)


async def test_a_child_that_holds_the_output_is_ended_with_its_parent() -> None:
    shown, ended = await heard(program(f"{NAP} & setsid {NAP} & echo done"))
    assert isinstance(ended, ChatResponse)
    assert (shown, ended.text) == ("done", "done")


async def test_a_program_that_goes_on_after_its_answer_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.providers.program.run.FAREWELL_S", 0.2)
    (tmp_path / "said").write_bytes(lines(*deltas("all of it"), done()))
    lingering = program(f"cat {tmp_path}/said; {NAP}", LINES, [tmp_path])
    _, ended = await heard(lingering)
    assert isinstance(ended, ChatResponse)
    assert ended.text == "all of it"


async def test_who_stops_listening_ends_it() -> None:
    async with aclosing(program(f"echo one; {NAP}").stream(ASKED)) as items:
        async for item in items:
            assert isinstance(item, TextDelta)
            assert napping() or await wait_until(napping)
            break
    assert not napping()


async def test_a_cancelled_request_leaves_nothing() -> None:
    asking = asyncio.create_task(program(f"setsid {NAP} & {NAP}").chat(ASKED))
    async with asyncio.timeout(PATIENCE_S):
        await wait_until(napping)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert not napping()


@pytest.mark.parametrize("stream", [1, 2])
@pytest.mark.parametrize("output", [ProgramOutput(), LINES], ids=["text", "lines"])
async def test_a_flood_is_bounded(stream: int, output: ProgramOutput) -> None:
    _, ended = await heard(program(f"yes x >&{stream}", output, output_kb=64))
    assert isinstance(ended, TransientProviderError)
    assert "printed too much" in str(ended)


async def test_a_line_without_an_end_is_bounded() -> None:
    huge = "printf '{'; head -c 900000 /dev/zero | tr '\\0' x; " + NAP
    _, ended = await heard(program(huge, LINES))
    assert isinstance(ended, TransientProviderError)
    assert "a line of more than" in str(ended)


async def test_it_has_no_more_memory_than_declared() -> None:
    _, ended = await heard(
        program("head -c 60000000 /dev/zero | tail -c 50000000 | wc -c", memory_mb=16)
    )
    assert isinstance(ended, TransientProviderError) or "50000000" not in ended.text


@pytest.mark.skipif(bool(no_activation()), reason=no_activation())
async def test_it_answers_in_the_units_too(tmp_path: Path) -> None:
    place = tmp_path / "socket"
    model = program("echo begun; pwd; cat; sleep 0.05; echo $HOME")
    model._isolation = ProgramIsolation(place, place, tmp_path)
    with activated(place):
        shown, ended = await heard(model)
    assert isinstance(ended, ChatResponse), ended
    assert shown.startswith(f"begun\n{tmp_path}\nBelow is a conversation")
    assert shown.endswith(f"</person>\n{tmp_path}")
