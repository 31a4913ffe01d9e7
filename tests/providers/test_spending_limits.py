import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.errors import SpendingLimit
from agent.messaging.journal import open_agent_db
from agent.providers.base import Usage
from agent.providers.prices import Prices
from agent.providers.section import MainProviderSettings, Price
from agent.providers.spending import SpendingLedger, Spent
from agent.providers.spending_limits import Budget, PricedRequest, reached_today
from agent.storage.worker import DatabaseWorker
from tests.fakes.clock import SteppedClock
from tests.waits import PATIENCE_S, stays, wait_until

# A dollar for each token: a cent would be easily overlooked
PRICES = Prices({"gold": Price(input=1e6, output=1e6), "gift": Price(input=0, output=0)})


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[SpendingLedger]:
    journal: DatabaseWorker = open_agent_db(tmp_path / "agent.db")
    yield SpendingLedger(journal, SteppedClock())
    await journal.aclose()


class Purse:
    """A budget, and what the owner is told of it."""

    def __init__(self, ledger: SpendingLedger, **limits: float) -> None:
        self.budget = Budget(MainProviderSettings(**limits), ledger, PRICES)
        self.told: list[str] = []

    async def begin(self) -> "Purse":
        await self.budget.begin(self.tell)
        return self

    async def tell(self, text: str) -> None:
        self.told.append(text)

    async def admit(
        self, most: int = 1, model: str = "gold", conversation: str = "a", *, has_key: bool = True
    ) -> PricedRequest:
        return await self.budget.admit(conversation, model, Usage(most), has_key=has_key)

    async def spend(self, tokens: int, model: str = "gold", conversation: str = "a") -> None:
        asked = await self.admit(tokens, model, conversation)
        await self.budget.settle(asked, Usage(tokens))


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("daily_limit_usd", "provider.daily_limit_usd is reached, 10.00 of 10.00 USD today"),
        ("daily_limit_tokens", "provider.daily_limit_tokens is reached, 10 of 10 tokens today"),
        (
            "conversation_limit_usd",
            "conversation_limit_usd is reached, 10.00 of 10.00 USD in this conversation: /new",
        ),
        ("conversation_limit_tokens", "provider.conversation_limit_tokens is reached, 10 of 10"),
    ],
)
async def test_a_limit_stops_with_a_sentence_that_names_its_key(
    key: str, said: str, ledger: SpendingLedger
) -> None:
    purse = Purse(ledger, **{key: 10})
    await purse.spend(9)
    await purse.spend(1)
    with pytest.raises(SpendingLimit) as caught:
        await purse.admit()
    assert said in str(caught.value)


async def test_another_conversation_goes_on_where_one_has_reached_its_limit(
    ledger: SpendingLedger,
) -> None:
    purse = Purse(ledger, conversation_limit_tokens=10)
    await purse.spend(10)
    await purse.spend(10, conversation="b")
    with pytest.raises(SpendingLimit):
        await purse.admit(conversation="b")


async def test_without_limits_nothing_is_refused(ledger: SpendingLedger) -> None:
    purse = Purse(ledger)
    await purse.spend(10**9)
    await purse.spend(10**9, "unknown")


async def test_a_limit_outlives_a_restart(ledger: SpendingLedger) -> None:
    await Purse(ledger, daily_limit_usd=10).spend(10)
    with pytest.raises(SpendingLimit):
        await Purse(ledger, daily_limit_usd=10).admit()


async def test_the_owner_is_told_once_at_four_fifths(ledger: SpendingLedger) -> None:
    purse = await Purse(ledger, daily_limit_usd=10, conversation_limit_tokens=20).begin()
    await purse.spend(7)
    assert purse.told == []
    await purse.spend(1)
    assert purse.told == ["80% of provider.daily_limit_usd is used: 8.00 of 10.00 USD today."]
    again = await Purse(ledger, daily_limit_usd=10).begin()
    await again.spend(1)
    assert (again.told, len(purse.told)) == ([], 1)


async def test_one_request_that_takes_it_all_is_told_too(ledger: SpendingLedger) -> None:
    purse = await Purse(ledger, conversation_limit_tokens=10).begin()
    await purse.spend(30)
    (told,) = purse.told
    assert told.endswith("is used: 30 of 10 tokens in the conversation a.")


async def test_an_unknown_price_is_refused_where_money_is_limited(ledger: SpendingLedger) -> None:
    purse = Purse(ledger, daily_limit_usd=10)
    with pytest.raises(SpendingLimit, match=r"price of lead is not known.*\[provider\.prices\]"):
        await purse.admit(model="lead")


async def test_tokens_of_an_unknown_price_are_counted_as_such(ledger: SpendingLedger) -> None:
    purse = Purse(ledger, daily_limit_tokens=100)
    await purse.spend(30, "lead")
    day = (await ledger.standing("a")).day
    assert (day.tokens, day.unpriced_tokens, day.usd) == (30, 30, 0.0)


async def test_what_nobody_can_send_a_bill_for_is_free(ledger: SpendingLedger) -> None:
    purse = Purse(ledger, daily_limit_usd=10)
    await purse.spend(10)
    for asked in (await purse.admit(model="lead", has_key=False), await purse.admit(model="gift")):
        await purse.budget.settle(asked, Usage(5))
    day = (await ledger.standing("a")).day
    assert (day.usd, day.tokens, day.unpriced_tokens) == (10.0, 20, 0)


async def test_the_model_that_answered_has_its_own_price(ledger: SpendingLedger) -> None:
    purse = Purse(ledger)
    asked = await purse.admit(model="lead")
    await purse.budget.settle(asked, Usage(5), "gold")
    asked = await purse.admit(model="gold")
    await purse.budget.settle(asked, Usage(2), "gold-but-unheard-of")
    assert (await ledger.standing("a")).day.usd == 7.0


async def test_a_request_that_nobody_answered_costs_nothing_and_holds_up_nobody(
    ledger: SpendingLedger,
) -> None:
    purse = Purse(ledger, daily_limit_tokens=10)
    asked = await purse.admit(10)
    await purse.budget.settle(asked, None)
    await purse.budget.settle(await purse.admit(10), None)
    assert (await ledger.standing("a")).day.requests == 0


async def test_near_a_limit_each_request_waits_for_those_before_it(ledger: SpendingLedger) -> None:
    purse = Purse(ledger, daily_limit_tokens=10)
    first = await purse.admit(6)
    second = await purse.admit(6)
    third = asyncio.ensure_future(purse.admit(6))
    await stays(lambda: not third.done(), 0.05)
    await purse.budget.settle(first, Usage(1))
    await purse.budget.settle(second, Usage(1))
    async with asyncio.timeout(PATIENCE_S):
        await purse.budget.settle(await third, Usage(1))


async def test_whoever_stops_waiting_holds_up_nobody(ledger: SpendingLedger) -> None:
    purse = Purse(ledger, daily_limit_tokens=10)
    first = await purse.admit(100)
    waiting = asyncio.ensure_future(purse.admit(100))
    await wait_until(lambda: purse.budget._settling._waiters)
    waiting.cancel()
    await asyncio.wait([waiting])
    await purse.budget.settle(first, Usage(1))
    async with asyncio.timeout(PATIENCE_S):
        await purse.admit(100)


async def test_today_is_told_with_its_limit(ledger: SpendingLedger) -> None:
    purse = await Purse(ledger, daily_limit_usd=10).begin()
    await purse.spend(1)
    assert purse.budget.spent_today() == "1 request, 1 tokens, 1.00 of 10.00 USD"


def test_a_limit_that_a_day_has_reached_is_told_without_an_agent() -> None:
    settings = MainProviderSettings(daily_limit_usd=1.0, daily_limit_tokens=500)
    assert reached_today(settings, Spent(1, 100, 0, 0, 0, 0.9)) == ""
    assert reached_today(settings, Spent(1, 100, 0, 0, 0, 1.0)) == (
        "provider.daily_limit_usd is reached, 1.00 of 1.00 USD"
    )
    assert "daily_limit_tokens is reached, 500 of 500" in reached_today(settings, Spent(1, 499, 1))
