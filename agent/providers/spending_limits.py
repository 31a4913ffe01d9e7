"""Limits on spending: checked before each request, counted after it.

Requests under way count with the most that they may cost, so that several at once do not pass a
limit together: near it each waits for those before it. A limit is passed by one request at most.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from msgspec import Struct

from agent.errors import SpendingLimit
from agent.providers.base import Usage
from agent.providers.prices import Prices, cost_usd
from agent.providers.section import MainProviderSettings, Price
from agent.providers.spending import SpendingLedger, SpendingTotals, Spent, usd_in_words
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

# Of a limit, where the owner is told
WARNED_SHARE = 0.8
FREE = Price(input=0, output=0)
_KEYS = (
    "provider.daily_limit_usd",
    "provider.daily_limit_tokens",
    "provider.conversation_limit_usd",
    "provider.conversation_limit_tokens",
)
# As much of a conversation's name as tells it from others
_MAX_NAME_CHARS = 60

Tell = Callable[[str], Awaitable[None]]


class SpendingCap(Struct, frozen=True):
    """A limit of the configuration."""

    key: str
    most: float

    @property
    def is_usd(self) -> bool:
        return self.key.endswith("_usd")

    @property
    def is_daily(self) -> bool:
        return self.key.startswith("provider.daily")

    def spent(self, standing: SpendingTotals) -> float:
        return self.of(standing.day if self.is_daily else standing.conversation)

    def of(self, spent: Spent) -> float:
        return spent.usd if self.is_usd else spent.tokens

    def in_words(self, spent: float) -> str:
        if self.is_usd:
            return f"{usd_in_words(spent)} of {usd_in_words(self.most)} USD"
        return f"{spent:,.0f} of {self.most:,.0f} tokens"


class PricedRequest(Struct, frozen=True, eq=False):
    """Request, as far as it costs anything.

    Args:
        most: what it may cost.
        is_free: nobody can send a bill for it.
    """

    conversation: str
    model: str
    most: Spent
    is_free: bool


class Budget:
    """Lets requests through while there is something left."""

    def __init__(
        self, settings: MainProviderSettings, ledger: SpendingLedger, prices: Prices
    ) -> None:
        self._limits = tuple(_limits(settings))
        self._ledger = ledger
        self._prices = prices
        self._under_way: list[PricedRequest] = []
        # How many requests have been settled, and what those who wait for the next one wait on
        self._settled = 0
        self._settling = asyncio.Event()
        self._tell: Tell = _tell_the_log

    async def begin(self, tell: Tell) -> None:
        """Read today's spending; from now on tell the owner by `tell`."""
        self._tell = tell
        await self._ledger.standing("")

    def spent_today(self) -> str:
        return self._ledger.seen_today.in_words(self._most_usd(is_daily=True))

    async def spent_in(self, conversation: str) -> str:
        standing = await self._ledger.standing(conversation)
        return standing.conversation.in_words(self._most_usd(is_daily=False))

    async def admit(
        self, conversation: str, model: str, most: Usage, *, has_key: bool
    ) -> PricedRequest:
        """Return a request that may be sent; settle it in any case.

        Raises:
            SpendingLimit: a limit is reached.
        """
        asked = self._asked(conversation, model, most, has_key=has_key)
        limits = [one for one in self._limits if not (one.is_usd and asked.is_free)]
        self._refuse_unpriced(limits, asked)
        while limits:
            settled, event = self._settled, self._settling
            standing = await self._ledger.standing(conversation)
            _refuse_spent(limits, standing)
            if settled != self._settled:
                continue
            if not self._may_be_reached(limits, standing):
                break
            await event.wait()
        self._under_way.append(asked)
        return asked

    async def settle(self, asked: PricedRequest, usage: Usage | None, model: str = "") -> None:
        """Count the cost of a request; None for one that nobody answered."""
        try:
            if usage is not None:
                await self._count(asked, self._spent(asked, usage, model))
        finally:
            self._under_way.remove(asked)
            self._settled += 1
            self._settling.set()
            self._settling = asyncio.Event()

    def _asked(self, conversation: str, model: str, most: Usage, *, has_key: bool) -> PricedRequest:
        price = self._prices.price(model, most.input_tokens, self._ledger.day)
        if price is None and not has_key:
            price = FREE
        usd = cost_usd(price, most) if price else 0.0
        spent = Spent(input_tokens=most.input_tokens, output_tokens=most.output_tokens, usd=usd)
        return PricedRequest(conversation, model, spent, price is not None and price == FREE)

    def _spent(self, asked: PricedRequest, usage: Usage, model: str) -> Spent:
        day = self._ledger.day
        names = (model, asked.model)
        prices = (self._prices.price(name, usage.input_tokens, day) for name in names if name)
        price = FREE if asked.is_free else next(filter(None, prices), None)
        tokens = usage.input_tokens + usage.output_tokens
        return Spent(
            1,
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_tokens,
            0 if price else tokens,
            cost_usd(price, usage) if price else 0.0,
        )

    def _refuse_unpriced(self, limits: list[SpendingCap], asked: PricedRequest) -> None:
        usd = next((limit for limit in limits if limit.is_usd), None)
        if usd and self._prices.price(asked.model, 0, self._ledger.day) is None:
            raise SpendingLimit(
                f"the price of {printable_line(asked.model, _MAX_NAME_CHARS)} is not known, so "
                f"{usd.key} cannot hold: add it to [provider.prices], or limit tokens instead"
            )

    def _most_usd(self, *, is_daily: bool) -> float:
        usd = (one for one in self._limits if one.is_usd and one.is_daily is is_daily)
        return next((limit.most for limit in usd), 0.0)

    def _may_be_reached(self, limits: list[SpendingCap], standing: SpendingTotals) -> bool:
        """Return true if the requests under way could reach the limit at their highest cost."""
        for limit in limits:
            waiting = sum(limit.of(asked.most) for asked in self._under_way)
            if waiting and limit.spent(standing) + waiting >= limit.most:
                return True
        return False

    async def _count(self, asked: PricedRequest, spent: Spent) -> None:
        if not self._limits:
            # There is nothing to warn of: nobody has to look
            self._ledger.count(asked.conversation, spent)
            return
        after = await self._ledger.add(asked.conversation, spent)
        for limit in self._limits:
            now, share = limit.spent(after), WARNED_SHARE * limit.most
            # Once: only the request that comes past it
            if now - limit.of(spent) < share <= now:
                name = printable_line(asked.conversation, _MAX_NAME_CHARS)
                where = "today" if limit.is_daily else f"in the conversation {name}"
                await self._tell(
                    f"{WARNED_SHARE:.0%} of {limit.key} is used: {limit.in_words(now)} {where}."
                )


def reached_today(settings: MainProviderSettings, day: Spent) -> str:
    """Return the daily limit that is reached, with its figures; empty if none is."""
    daily = (limit for limit in _limits(settings) if limit.is_daily)
    reached = (limit for limit in daily if limit.of(day) >= limit.most)
    return next((f"{one.key} is reached, {one.in_words(one.of(day))}" for one in reached), "")


def _refuse_spent(limits: list[SpendingCap], standing: SpendingTotals) -> None:
    for limit in limits:
        spent = limit.spent(standing)
        if spent >= limit.most:
            where = "today" if limit.is_daily else "in this conversation"
            remedy = "it resets tomorrow" if limit.is_daily else "/new starts another conversation"
            raise SpendingLimit(
                f"{limit.key} is reached, {limit.in_words(spent)} {where}: {remedy}, "
                "or set it higher"
            )


def _limits(settings: MainProviderSettings) -> list[SpendingCap]:
    every = (SpendingCap(key, getattr(settings, key.removeprefix("provider."))) for key in _KEYS)
    return [limit for limit in every if limit.most]


async def _tell_the_log(text: str) -> None:
    _log.warning("provider: spending (message=%s)", text)
