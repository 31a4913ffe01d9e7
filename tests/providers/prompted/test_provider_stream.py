"""Calls in words over the network: the stream is cut at every byte, cleanly and not."""

import pytest

from agent.config import Secret
from agent.errors import ProviderError
from agent.messages import Effect
from agent.net.http import HttpClient
from agent.providers.base import ChatRequest, ChatResponse
from agent.providers.completions.wire import CompletionsWire
from agent.providers.endpoint import Endpoint
from agent.providers.prompted.forms import ToolForms
from agent.providers.prompted.provider import PromptedProvider, ToolForm
from agent.providers.reader import RequestTimeouts
from agent.providers.service import ServiceProvider
from agent.providers.wire import Sampling
from tests.fakes.clock import SteppedClock
from tests.fakes.llm_server import Reply, events, sse
from tests.fakes.llm_transport import OneReplyTransport
from tests.fakes.said import spec_of, user_said

ARGUMENTS = '{"pin": "led"}'
ANSWERS = {
    "marked": f'On.\n<tool_call>{{"name": "gpio_write", "arguments": {ARGUMENTS}}}</tool_call>',
    "named": '<invoke name="gpio_write"><parameter name="pin">led</parameter></invoke>',
    "whole": f'```json\n{{"name": "gpio_write", "arguments": {ARGUMENTS}}}\n```',
}
ASKED = ChatRequest(
    (user_said("turn the led on"),),
    (spec_of("gpio_write", "Sets a pin.", {"type": "object"}, Effect.ACTUATE),),
)


async def answer_of(reply: Reply) -> tuple[str, ChatResponse | None]:
    """What was shown, and the response if there was one."""
    http = HttpClient(OneReplyTransport(reply))
    endpoint = Endpoint("https://api.example.org/v1", Secret("k"), "the test")
    sampling, patience = Sampling("m", 0.5, 500), RequestTimeouts(5, 5)
    service = ServiceProvider("s", endpoint, CompletionsWire(), sampling, http, patience)
    provider = PromptedProvider(service, "m", ToolForms(SteppedClock()), ToolForm.WORDS)
    shown: list[str] = []
    try:
        async for item in provider.stream(ASKED):
            if isinstance(item, ChatResponse):
                return "".join(shown), item
            shown.append(item.text)
    except ProviderError:
        pass
    finally:
        await http.aclose()
    return "".join(shown), None


@pytest.mark.parametrize("form", ANSWERS)
async def test_a_stream_by_the_byte_gives_the_same_call_as_one_in_one_piece(form: str) -> None:
    body = sse(*events(ANSWERS[form], piece_chars=7))
    for piece_bytes in (0, 1):
        shown, response = await answer_of(Reply(body, piece_bytes=piece_bytes))
        assert response is not None
        assert shown == response.text == ("On." if form == "marked" else "")
        assert [call.arguments_json for call in response.tool_calls] == [ARGUMENTS]


@pytest.mark.parametrize("is_clean", [True, False], ids=["ends", "breaks off"])
@pytest.mark.parametrize("form", ANSWERS)
async def test_a_stream_that_is_cut_anywhere_shows_no_mark_and_runs_no_half_call(
    form: str,
    is_clean: bool,  # noqa: FBT001 - a parameter
) -> None:
    body = sse(*events(ANSWERS[form], piece_chars=7))
    for end in range(0, len(body), 5):
        reply = Reply(body[:end]) if is_clean else Reply(body, cut_after=end)
        shown, response = await answer_of(reply)
        calls = response.tool_calls if response else ()
        assert [call.arguments_json for call in calls] in ([], [ARGUMENTS])
        assert "<tool_call>" not in shown
        assert "<invoke " not in shown
