"""A client of Wyoming that can lie, be slow, and leave: the wire, byte by byte."""

import asyncio
import contextlib
import json
from typing import Any

from tests.waits import PATIENCE_S


class WyomingClient:
    """Client at one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connected(cls, port: int, address: str = "127.0.0.1") -> "WyomingClient":
        """Return a client that comes from this address of the machine."""
        place = {"local_addr": (address, 0)}
        return cls(*await asyncio.open_connection("127.0.0.1", port, **place))

    def say(self, kind: str, payload: bytes = b"", **data: object) -> None:
        """Send an event as the protocol wants it."""
        raw = json.dumps(data).encode()
        head = {"type": kind, "data_length": len(raw), "payload_length": len(payload)}
        self.send(json.dumps(head).encode() + b"\n" + raw + payload)

    def ask(self, text: str, **context: str) -> None:
        self.say("transcript", text=text, context=context, language="en")

    def send(self, raw: bytes) -> None:
        self.writer.write(raw)

    async def event(self) -> tuple[str, dict[str, Any]]:
        """Return the next event; its type is empty at the end."""
        async with asyncio.timeout(PATIENCE_S):
            line = await self.reader.readline()
            if not line:
                return "", {}
            head = json.loads(line)
            data = json.loads(await self.reader.readexactly(head.get("data_length", 0)) or b"{}")
        return head["type"], data

    async def answer(self) -> tuple[str, dict[str, Any]]:
        """Return the event that ends an answer."""
        while True:
            kind, data = await self.event()
            if kind in {"handled", "not-handled", "error", ""}:
                return kind, data

    async def asked(self, text: str, **context: str) -> str:
        """Return the answer's text."""
        self.ask(text, **context)
        kind, data = await self.answer()
        assert kind == "handled", data
        return str(data["text"])

    async def has_ended(self) -> bool:
        """Return true when the agent has closed the connection, or cut it."""
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(PATIENCE_S):
                while await self.reader.read(65536):
                    pass
        return True

    def leave(self) -> None:
        self.writer.close()

    async def aclose(self) -> None:
        self.writer.transport.abort()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()
