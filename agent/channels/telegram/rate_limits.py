"""Rate limits of chats, as the platform reports them."""

from agent.errors import ChannelUnavailable
from agent.system.clock import Clock

# Chats that are remembered; the platform repeats itself to whoever forgets
MAX_CHATS = 1000


class TelegramRateLimits:
    """Chats that must wait; optional messages to them are skipped."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until_s: dict[str, float] = {}

    def note(self, chat: str, error: ChannelUnavailable) -> None:
        if error.retry_after_s is None:
            return
        if len(self._until_s) >= MAX_CHATS:
            self._until_s.clear()
        self._until_s[chat] = self._clock.monotonic_s() + error.retry_after_s

    def left_s(self, chat: str) -> float:
        """Return the seconds until sending is allowed again; 0 for now."""
        left_s = self._until_s.get(chat, 0.0) - self._clock.monotonic_s()
        if left_s <= 0:
            self._until_s.pop(chat, None)
            return 0.0
        return left_s

    async def wait_out(self, chat: str, most_s: float) -> None:
        """Return when sending is allowed again.

        Raises:
            ChannelUnavailable: that is further away.
        """
        while left_s := self.left_s(chat):
            if left_s > most_s:
                self.demand(chat)
            await self._clock.sleep(left_s)

    def demand(self, chat: str) -> None:
        """Raise the error that the platform would answer, without asking it.

        Raises:
            ChannelUnavailable: not yet.
        """
        if left_s := self.left_s(chat):
            text = f"Telegram asks to leave this chat alone for {left_s:.0f} s"
            raise ChannelUnavailable(text, retry_after_s=left_s)
