"""Started as a process of its own: a model service on loopback that answers at once.

Prints its address. A question with `tool` in it is answered by a call of `time_now`, the result
of a call by text.
"""

import asyncio
import contextlib
from collections.abc import Sequence

from tests.fakes.llm_server import Call, Json, LlmServer, Reply, streamed
from tests.fakes.raw_server import serving

ANSWER = "The lamp is on, and everything else is as it should be."
_SPOKEN = streamed(ANSWER, piece_chars=8)
_CALL = streamed("", Call("time_now"), piece_chars=8)


def main(_arguments: Sequence[str]) -> int:
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve())
    return 0


async def _serve() -> None:
    server = LlmServer(lambda body: _respond(server, body))
    async with serving(server.serve) as url:
        print(url, flush=True)
        await asyncio.Event().wait()


def _respond(server: LlmServer, body: Json) -> Reply:
    # Thousands of them would be a growth of its own
    server.requests.clear()
    messages = body["messages"]
    last = messages[-1] if isinstance(messages, list) else {}
    is_asked = last.get("role") == "user" and "tool" in str(last.get("content"))
    return _CALL if is_asked else _SPOKEN
