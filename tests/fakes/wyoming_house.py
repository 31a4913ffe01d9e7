"""Servers of the house that speak Wyoming: a plain one, and those that lie, flood or are silent."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.raw_server import serving

RATE_HZ = 22_050
_INFO = {"asr": [{"name": "whisper"}], "tts": [{"name": "piper"}]}


def event(kind: str, payload: bytes = b"", **data: object) -> bytes:
    """Return an event as the library writes it."""
    raw = json.dumps(data).encode()
    head = {"type": kind, "data_length": len(raw), "payload_length": len(payload)}
    return json.dumps(head).encode() + b"\n" + raw + payload


@dataclass
class WyomingHouse:
    """Serves until the block ends.

    Args:
        text: what it hears in everything.
        samples: what it says to everything.
        raw: what it sends in place of any answer.
        stays: it says nothing more, and does not leave.
    """

    text: str = "turn the led on"
    samples: bytes = b"\1\0" * 2205
    raw: bytes | None = None
    stays: bool = False
    channels: int = 1
    # What it hears in every sound that is not silence, and how often it tells of that
    wakes: str = ""
    tells: int = 1
    info: dict[str, Any] = field(default_factory=lambda: dict(_INFO))
    heard: list[tuple[str, dict[str, Any], bytes]] = field(default_factory=list)
    server: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            head = json.loads(line)
            data = json.loads(await reader.readexactly(head.get("data_length") or 0) or b"{}")
            payload = await reader.readexactly(head.get("payload_length") or 0)
            self.heard.append((head["type"], data, payload))
            answer = self._answer(head["type"], data, payload)
            if answer and self.raw is not None:
                writer.write(self.raw)
                await writer.drain()
                if self.stays:
                    await asyncio.Event().wait()
                return
            writer.write(answer)
            await writer.drain()

    def _answer(self, kind: str, data: dict[str, Any], payload: bytes) -> bytes:
        match kind:
            case "audio-chunk" if self.wakes and any(payload):
                return (
                    event("detection", name=self.wakes, timestamp=data.get("timestamp"))
                    * self.tells
                )
            case "detect":
                return self.raw or b""
            case "describe":
                return event("info", **self.info)
            case "audio-stop":
                return event("transcript", text=self.text)
            case "synthesize":
                shape = {"rate": RATE_HZ, "width": 2, "channels": self.channels}
                chunk = event("audio-chunk", self.samples, **shape)
                return event("audio-start", **shape) + chunk + event("audio-stop")
        return b""


@contextlib.asynccontextmanager
async def wyoming_house(house: WyomingHouse) -> AsyncIterator[WyomingHouse]:
    async with serving(house.serve) as url:
        house.server = url.replace("http", "tcp")
        yield house
