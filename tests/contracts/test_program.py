"""A real program under the suite of all wires: cut after every byte, slow, refusing."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent.errors import (
    ContextOverflow,
    KeyRefused,
    ProviderRefused,
    QuotaExhausted,
    RateLimited,
    TransientProviderError,
)
from agent.messages import Effect
from agent.providers.base import ChatRequest
from tests.contracts.provider import ASKED, EVERY_ANSWER, NO_ARGUMENTS, TEXT, WRITE, AnswerCase
from tests.fakes import scripted_program as scripted
from tests.fakes.llm_server import Reply
from tests.fakes.said import spec_of
from tests.fakes.sandbox import no_bubblewrap
from tests.fakes.scripted_program import ProgramCase

pytestmark = [
    pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap()),
    # A thousand processes, each in a sandbox of its own
    pytest.mark.timeout(300),
]
# What is said on standard error, as the programs of some makers word it
SAID = (
    ("Invalid API key · Please run /login", KeyRefused),
    ("You are not logged in, please log in with kiro-cli login", KeyRefused),
    ("Error: 429 Too Many Requests", RateLimited),
    ("Claude usage limit reached. Your limit will reset at 3pm", RateLimited),
    ("Credit balance is too low", QuotaExhausted),
    ("The context window has overflowed, summarizing the history...", ContextOverflow),
    ("Error: Unknown model: gpt-none", ProviderRefused),
    ("Kiro is having trouble responding right now", TransientProviderError),
    ("Segmentation fault", TransientProviderError),
)

TOOLS = tuple(
    spec_of(call.name, "Does it.", {"type": "object"}, Effect.ACTUATE)
    for call in (WRITE, NO_ARGUMENTS)
)


@pytest.fixture
def case(tmp_path: Path) -> ProgramCase:
    said = scripted.deltas(scripted.text_with(TEXT, (WRITE, NO_ARGUMENTS)), 19)
    stream = scripted.lines(*said, scripted.done())
    return ProgramCase(
        tmp_path,
        ChatRequest(ASKED.messages, TOOLS),
        stream,
        stream.index(b'{"type": "done"'),
        scripted.lines(*scripted.deltas(TEXT), scripted.done()),
        scripted.document(scripted.text_with(TEXT, (WRITE, NO_ARGUMENTS))),
        scripted.lines(*scripted.deltas(TEXT)[:2], {"type": "error", "message": "overloaded"}),
        tuple((Reply(words.encode(), 500), kind) for words, kind in SAID),
    )


@pytest.mark.parametrize("holds", EVERY_ANSWER, ids=lambda holds: holds.__name__)
async def test_a_program_answers_as_every_wire(
    case: ProgramCase, holds: Callable[[AnswerCase], Awaitable[None]]
) -> None:
    await holds(case)
