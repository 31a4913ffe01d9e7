"""Questions to the owner by a client's own form, where the owner has said whose they are.

Nobody can tell a person's answer there from a model's. So the owner names the callers in the
configuration; what may hurt, erases or shows something is asked in the owner's own chat all the
same; a yes is for one call, does not count before anybody could have read the question, and is told
to the owner. Without an answer the owner's own chat is asked.
"""

import asyncio
import logging
import secrets
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from agent.access.owner import Tell
from agent.access.roles import PersonRole
from agent.approvals.questions import Ask
from agent.channels.base import Answer, Question, YesBy
from agent.gateway.assistants.mcp.stream import CallStream, current
from agent.gateway.assistants.mcp.wire import RpcMessage
from agent.gateway.route import RouteRequest
from agent.messages import Effect
from agent.system.clock import Clock
from agent.text.printable import spelled_out, spelled_text

_log = logging.getLogger(__name__)

SESSION = "mcp-session-id"
# Nothing is kept of a session: its name tells its calls from those of another client with the same
# token, and says if this client can put questions
_CAN_ASK = "asks-"
_CALLS_ALONE = "calls-"
_ID_BYTES = 16
# The owner's own chat has the rest of the two minutes that a question has
ANSWERED_WITHIN_S = 60.0
# Nobody reads a question and answers it sooner
LEAST_READ_S = 1.0
# What a form may show of the tool's own sentence and of the reason
_MAX_WORDS_CHARS = 2000
# Not what may hurt, erases, or looks at what is not the viewer's to show
_ASKED = frozenset({Effect.WRITE, Effect.ACTUATE})
_FORM: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "allow": {
            "type": "boolean",
            "title": "Allow it, once",
            "description": "Yes does what is written above, this time alone.",
            "default": False,
        }
    },
    "required": ["allow"],
}


class _Open(Struct):
    """Question that waits at a client."""

    sender: str
    answered: asyncio.Future[RpcMessage]


class Elicitations:
    """Puts questions to clients.

    Args:
        callers: names of those who may be asked so.
        tell: the owner, of each yes.
    """

    def __init__(self, callers: Collection[str], clock: Clock, tell: Tell) -> None:
        self._callers = frozenset(name.casefold() for name in callers)
        self._clock = clock
        self._tell = tell
        self._open: dict[str, _Open] = {}

    def session_for(self, request: RouteRequest, params: Mapping[str, Any]) -> str:
        """Return the name of a new session."""
        able = params.get("capabilities")
        can_ask = isinstance(able, dict) and isinstance(able.get("elicitation"), dict)
        kind = _CAN_ASK if can_ask and self._is_allowed(request) else _CALLS_ALONE
        return f"{kind}{secrets.token_hex(_ID_BYTES)}"

    def asker(self, request: RouteRequest, *, is_relayed: bool) -> Ask | None:
        """Return what asks by the client first; None where only the owner's own chat counts."""
        is_able = request.headers.get(SESSION, "").startswith(_CAN_ASK)
        if is_relayed or not is_able or not self._is_allowed(request):
            return None
        stream = current()
        return None if stream is None else partial(self._ask, request, stream)

    def heard(self, sender: str, message: RpcMessage) -> None:
        """Take an answer; only of the caller who was asked."""
        asked = self._open.get(str(message.id))
        if asked is not None and asked.sender == sender and not asked.answered.done():
            asked.answered.set_result(message)

    def _is_allowed(self, request: RouteRequest) -> bool:
        person = request.person
        return person.name.casefold() in self._callers and person.rank >= PersonRole.USER

    async def _ask(self, request: RouteRequest, stream: CallStream, question: Question) -> Answer:
        if question.effect not in _ASKED or question.yes_by is not YesBy.WORD:
            return Answer.NONE
        known = secrets.token_hex(_ID_BYTES)
        asked = _Open(request.sender, asyncio.get_running_loop().create_future())
        self._open[known] = asked
        shown_s = self._clock.monotonic_s()
        stream.put(_form(known, question))
        try:
            async with asyncio.timeout(ANSWERED_WITHIN_S):
                message = await asked.answered
        except TimeoutError:
            return Answer.NONE
        finally:
            del self._open[known]
        answer = _read(message)
        if answer is Answer.YES and self._clock.monotonic_s() - shown_s < LEAST_READ_S:
            _log.warning("mcp: answer ignored, nobody reads so fast (from=%s)", request.person.name)
            return Answer.NONE
        if answer is Answer.YES:
            _log.info("mcp: allowed by a client's form (from=%s)", request.person.name)
            who = request.person.name.replace("`", "'")
            what = f"{question.tool} {spelled_out(question.arguments_json)}"
            await self._tell(
                f"Allowed by the form of `{who}`, not here: {what}. If that was not you: take it "
                "out of `elicit` in [gateway]."
            )
        return answer


def _form(known: str, question: Question) -> bytes:
    text = "\n".join(
        filter(
            None,
            (
                "For the owner of the device alone, not for a model:",
                spelled_text(question.words, _MAX_WORDS_CHARS),
                f"{question.tool} {spelled_out(question.arguments_json)}",
                f"Why it is asked: {spelled_out(question.reason)[:_MAX_WORDS_CHARS]}.",
            ),
        )
    )
    params = {"mode": "form", "message": text, "requestedSchema": _FORM}
    told = {"jsonrpc": "2.0", "id": known, "method": "elicitation/create", "params": params}
    return msgspec.json.encode(told)


def _read(message: RpcMessage) -> Answer:
    """Return the answer; nothing but a plain yes is one, and without any the chat is asked."""
    result = message.result or {}
    content = result.get("content")
    allow = content.get("allow") if isinstance(content, dict) else None
    if result.get("action") == "decline" or (result.get("action") == "accept" and allow is False):
        return Answer.NO
    return Answer.YES if result.get("action") == "accept" and allow is True else Answer.NONE
