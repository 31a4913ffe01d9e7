"""Calls at work for callers, which a client may take back.

Each client counts its requests from the beginning, and two may share the token of one caller: a
call is known by the name of its session, too. Of two that are called the same none is taken back.
"""

import asyncio
import logging
from collections.abc import Coroutine

from agent.gateway.assistants.desk import MAX_OPEN_OF_ONE
from agent.gateway.assistants.mcp.elicitation import SESSION
from agent.gateway.assistants.mcp.wire import INTERNAL_ERROR, RpcAnswer, RpcMessage, RpcRefused
from agent.gateway.route import RouteRequest

_log = logging.getLogger(__name__)

CANCELLED = "notifications/cancelled"
# The session of a call, and what its client calls it
_Name = tuple[str, int | str]


class CallsAtWork:
    """Calls that have no answer yet, by caller."""

    def __init__(self) -> None:
        self._of: dict[str, dict[asyncio.Task[RpcAnswer], _Name]] = {}

    def refusal(self, sender: str) -> RpcRefused | None:
        """Return why no more calls are taken of this caller; None where they are."""
        if len(self._of.get(sender, ())) < MAX_OPEN_OF_ONE:
            return None
        return RpcRefused(INTERNAL_ERROR, "too many calls wait already")

    def begin(
        self,
        request: RouteRequest,
        message: RpcMessage,
        work: Coroutine[None, None, RpcAnswer],
    ) -> asyncio.Task[RpcAnswer]:
        """Begin a call; it ends in its time whether its caller stays or not."""
        assert message.id is not None
        task = asyncio.create_task(work)
        of_caller = self._of.setdefault(request.sender, {})
        of_caller[task] = _session(request), message.id

        def forget(done: asyncio.Task[RpcAnswer]) -> None:
            of_caller.pop(done)
            if not of_caller:
                self._of.pop(request.sender, None)

        task.add_done_callback(forget)
        return task

    def take_back(self, request: RouteRequest, message: RpcMessage) -> None:
        """Cancel the call that a notification names; one that has acted ends all the same."""
        known = (message.params or {}).get("requestId")
        if not isinstance(known, int | str) or isinstance(known, bool):
            return
        name = _session(request), known
        of_caller = self._of.get(request.sender, {})
        meant = [task for task, named in of_caller.items() if named == name]
        # A second time would cut off what is done about the first
        if len(meant) == 1 and not meant[0].cancelling():
            _log.info("mcp: call taken back (from=%s)", request.person.name)
            meant[0].cancel()


async def answered(task: asyncio.Task[RpcAnswer]) -> RpcAnswer | None:
    """Return the answer to a call; None where its client has taken it back.

    Whoever waits may leave: the call goes on.
    """
    await asyncio.wait([task])
    return None if task.cancelled() else task.result()


def _session(request: RouteRequest) -> str:
    return request.headers.get(SESSION, "")
