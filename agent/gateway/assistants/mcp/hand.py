"""Hand for callers outside: one tool call through the gate, and the receipts of it."""

import json
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.access.roles import PersonRole
from agent.approvals.records import AuditReceipt, collected
from agent.gateway.assistants.channel import AssistantChannel
from agent.gateway.assistants.desk import RequestOrigin
from agent.gateway.assistants.mcp.content import JSON, MadeFile, MadeFiles
from agent.messages import Inbound, Provenance, ToolCall, ToolResult
from agent.system.clock import Clock

if TYPE_CHECKING:
    from agent.approvals.questions import Ask

# In the metadata of a call: its arguments come from words of somebody else
RELAYED = "barnacle/relayed"
RECEIPT = "barnacle/receipt"
_TURN_BYTES = 6


class HandResult(Struct, frozen=True):
    """Result of a call, with the rows of the audit log that stand for it."""

    result: ToolResult
    receipts: tuple[AuditReceipt, ...]
    turn: str
    files: tuple[MadeFile, ...] = ()

    @property
    def has_acted(self) -> bool:
        return any(one.kind == "effect" for one in self.receipts)

    def told(self) -> dict[str, object]:
        """Return it as the protocol wants it; what a model reads has the receipt of an act."""
        content: list[dict[str, object]] = [{"type": "text", "text": self.result.text}]
        content += [file.block() for file in self.files]
        if self.has_acted:
            content.append({"type": "text", "text": self._sentence})
        return {"content": content, "isError": not self.result.success, "_meta": self._meta}

    def told_of(self, uri: str, media: str) -> dict[str, object]:
        """Return it as a resource that was read: the files that were made, or the words."""
        contents = [file.contents(uri) for file in self.files if not file.refused]
        if not contents:
            media = media if media.startswith("text/") else JSON
            contents = [{"uri": uri, "mimeType": media, "text": self.result.text}]
        return {"contents": contents, "_meta": self._meta}

    @property
    def _meta(self) -> dict[str, object]:
        rows = [
            {"kind": one.kind, "row": one.link.number, "hash": one.link.digest}
            for one in self.receipts
        ]
        receipt: dict[str, object] = {"turn": self.turn, "audit": rows}
        if self.has_acted:
            receipt["read_back"] = self.result.text
        return {RECEIPT: receipt}

    @property
    def _sentence(self) -> str:
        rows = ", ".join(f"{one.link.number} ({one.link.digest[:12]})" for one in self.receipts)
        return f"Receipt: rows of the audit log {rows}."


class LentHand:
    """Calls tools for callers outside.

    Args:
        way: by which they come, for the names of their calls.
        made: reads the files of a result; None where the way carries none.
    """

    def __init__(
        self,
        channel: AssistantChannel,
        clock: Clock,
        way: str = "mcp",
        made: MadeFiles | None = None,
    ) -> None:
        self._channel = channel
        self._clock = clock
        self._way = way
        self._made = made

    async def call(
        self,
        request: RequestOrigin,
        tool: str,
        arguments: Mapping[str, object],
        *,
        is_relayed: bool,
        first: "Ask | None" = None,
    ) -> HandResult | None:
        """Return the result; None while the agent is not at work.

        Args:
            first: is asked for approval before the owner's own chat.
        """
        use = self._channel.use_tool
        if use is None:
            return None
        turn = secrets.token_hex(_TURN_BYTES)
        call = ToolCall(
            f"{self._way}-{turn}", tool, json.dumps(dict(arguments), ensure_ascii=False)
        )
        message = self._message(request, turn, is_relayed=is_relayed)
        with collected() as receipts:
            result = await use(message, call, turn, first)
        files = await self._made.of(result) if self._made else ()
        return HandResult(result, tuple(receipts), turn, files)

    def _message(self, request: RequestOrigin, turn: str, *, is_relayed: bool) -> Inbound:
        """Return the message that the call stands for: a program's, for its person."""
        trust = min(request.person.rank, PersonRole.USER).trust
        return Inbound(
            message_id=f"{self._way}-{turn}",
            channel=self._channel.name,
            sender=request.sender,
            reply_target=request.sender,
            text="",
            received_at_s=self._clock.wall_s(),
            provenance=Provenance.WEB if is_relayed else trust,
            thread=self._way,
            sender_name=request.person.name,
            is_forwarded=is_relayed,
            person=request.person.person_id,
        )
