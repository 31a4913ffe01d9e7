"""Recording of one platform: its channel listens, and nothing of it reaches the agent."""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from agent.channels import websocket
from agent.channels.platform import Platform, PlatformContext
from agent.channels.record.cassette import CassetteWriter, RecordingClient
from agent.channels.record.pseudonyms import Pseudonyms, known_words
from agent.channels.settings import ChannelsSettings
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.messages import Inbound
from agent.security.redact import Redactor
from agent.system.clock import SystemClock


@dataclass(frozen=True, slots=True)
class RecordingPaths:
    """A folder of the recording's own: the agent's place at the platform stays what it is."""

    state_dir: Path

    @property
    def inbox(self) -> Path:
        return self.state_dir / "inbox"

    @property
    def webhook_db(self) -> Path:
        return self.state_dir / "webhook.db"


async def record(
    platform: Platform,
    channels: ChannelsSettings,
    cassette: Path,
    duration_s: float,
    told: Callable[[str], None],
) -> CassetteWriter:
    """Listen for so long, and return the writer with its counts.

    Raises:
        ConfigRefused: the platform is pushed, or cannot be used as it is configured.
        ChannelError: the platform cannot be reached, or refuses.
    """
    if platform.comes_by_gateway(channels, os.environ):
        raise ConfigRefused(
            f"{platform.name} posts to the gateway: only what the agent asks for can be recorded"
        )
    words = await asyncio.to_thread(known_words, platform.name)
    writer = CassetteWriter(
        cassette, Pseudonyms(words), _redactor(platform.secrets(channels, os.environ)).redact
    )
    http = RecordingClient(writer)

    async def heard(message: Inbound) -> None:
        writer.heard(message)
        told(f"message {writer.lines} recorded")

    with tempfile.TemporaryDirectory(prefix="barnacle-record-") as folder:
        reach = PlatformContext(RecordingPaths(Path(folder)), os.environ, http, SystemClock())
        channel = platform.open(channels, reach)
        try:
            with websocket.tapped(_tap(platform.name, writer)), contextlib.suppress(TimeoutError):
                async with asyncio.timeout(duration_s):
                    await channel.listen(heard)
        finally:
            await channel.aclose()
            await http.aclose()
    return writer


def _tap(name: str, writer: CassetteWriter) -> websocket.Tap:
    """Return what takes the frames; of Lark's, which are no JSON, the payload."""
    if name != "lark":
        return writer.frame
    from agent.channels.lark.frames import LarkFrameError, decode  # noqa: PLC0415 - of one platform

    def unpacked(frame: str | bytes) -> None:
        with contextlib.suppress(LarkFrameError):
            payload = decode(frame if isinstance(frame, bytes) else frame.encode()).payload
            writer.frame(payload or b"")

    return unpacked


def _redactor(secrets: Iterable[Secret]) -> Redactor:
    redactor = Redactor()
    for secret in secrets:
        redactor.add(secret)
    return redactor
