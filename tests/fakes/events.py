"""A board that tells what a test makes it tell."""

import asyncio
from dataclasses import dataclass, field

from agent.link.events import BoardEvent, BoardSubscription, Watch
from agent.link.manifest import Manifest, read_manifest
from tests.fakes.board import MANIFEST_JSON


@dataclass
class TalkingBoard:
    """Takes every subscription; `tell` sends an event to all that watch that reading."""

    manifest: Manifest | None = field(default_factory=lambda: read_manifest(MANIFEST_JSON))
    subscriptions: list[BoardSubscription] = field(default_factory=list)
    count: int = 0

    def subscribe(self, watch: Watch) -> BoardSubscription:
        subscription = BoardSubscription(watch, asyncio.Event())
        subscription.trouble = ""
        self.subscriptions.append(subscription)
        return subscription

    def tell(self, source: str, value: float | str, at_s: float = 0.0, unit: str = "") -> None:
        """An event of that moment on the monotonic clock."""
        self.count += 1
        event = BoardEvent(source, value, unit, 1_800_000_000.0 + at_s, at_s, self.count, 0)
        for subscription in self.subscriptions:
            if subscription.watch.source == source and not subscription.is_closed:
                subscription.put(event)

    def go_away(self) -> None:
        for subscription in self.subscriptions:
            subscription.trouble = "the board is not connected"
