"""Files that an answer takes along, before the gate: who reads the answer is shown them."""

import json
from typing import TYPE_CHECKING

from agent.dispatch.gate import Gate
from agent.dispatch.reach import reach_of_file
from agent.dispatch.records import Circumstances
from agent.messages import Effect, ToolCall
from agent.security.approvals import ApprovalVoid
from agent.security.policy import Verdict
from agent.tools.base import ToolContext

if TYPE_CHECKING:
    from agent.dispatch.questions import Ask

# What the audit knows it by; no tool is called so
_NAME = "send_file"


async def complaint_about(path: str, context: ToolContext, gate: Gate, ask: "Ask") -> str:
    """Return why a file does not go; the owner is asked where it is not shared."""
    reach = reach_of_file(path, context)
    if reach.verdict is Verdict.ALLOW:
        return ""
    call = ToolCall("", _NAME, json.dumps({"path": path}))
    around = Circumstances(
        context.person,
        context.conversation,
        context.source,
        arguments={"path": path},
        reach=reach,
    )
    decision = await gate.admit(call, Effect.READ, context.provenance, ask, around)
    if decision.verdict is not Verdict.ALLOW:
        return decision.reason
    try:
        await gate.confirm(decision, Effect.READ)
    except ApprovalVoid as err:
        return str(err)
    return ""
