import pytest

from agent.providers.base import Usage
from agent.providers.prices import Prices, cost_usd
from agent.providers.section import Price

DAY = "2026-11-20"


def cost(model: str, usage: Usage, own: dict[str, Price] | None = None, day: str = DAY) -> float:
    price = Prices(own).price(model, usage.input_tokens, day)
    assert price is not None
    return round(cost_usd(price, usage), 9)


def test_a_million_tokens_cost_what_is_listed() -> None:
    # 200,000 at 0.20, and half of it from the cache at 0.02, as the service publishes it
    usage = Usage(input_tokens=200_000, output_tokens=1_000_000, cached_tokens=100_000)
    assert cost("gpt-5.6-luna", usage) == 0.02 + 0.002 + 1.20


def test_writing_to_a_cache_has_its_price() -> None:
    usage = Usage(input_tokens=1_000, cache_write_tokens=1_000)
    assert cost("claude-opus-5", usage) == 0.00625


def test_what_is_not_given_of_a_cache_costs_what_input_does() -> None:
    usage = Usage(input_tokens=3_000_000, cached_tokens=1_000_000, cache_write_tokens=1_000_000)
    assert cost("mine", usage, {"mine": Price(input=2.0, output=1.0)}) == 6.0


def test_a_long_request_costs_more_as_a_whole() -> None:
    assert cost("claude-haiku-5-5", Usage(100_000)) == 0.01
    assert cost("claude-haiku-5-5", Usage(100_001, 1_000_000)) == 2.5500005


def test_a_price_ends_on_its_day() -> None:
    usage = Usage(output_tokens=1_000_000)
    assert cost("gemini-3.8-flash", usage, day="2026-12-31") == 3.75
    assert cost("gemini-3.8-flash", usage, day="2027-01-01") == 7.5


@pytest.mark.parametrize(
    "name", ["claude-haiku-4-5-20251001", "claude-haiku-4-5@20251001", "Claude-Haiku-4-5-latest"]
)
def test_an_edition_costs_what_its_model_does(name: str) -> None:
    assert cost(name, Usage(1_000_000)) == 1.0


@pytest.mark.parametrize(
    "name", ["", "gpt-5.6", "gpt-5.6-luna-pro", "my-gpt-5.6-luna", "openai/gpt-5.6-luna", "llama3"]
)
def test_what_nobody_has_priced_has_no_price(name: str) -> None:
    assert Prices().price(name, 10, DAY) is None


def test_prices_of_ones_own_go_first_and_may_stand_for_many() -> None:
    own = {"gpt-5.6-luna": Price(input=7.0, output=0), "llama*": Price(input=0, output=0)}
    assert cost("gpt-5.6-luna-2026-07-09", Usage(1_000_000), own) == 7.0
    assert cost("Llama3.2:3b", Usage(1_000_000), own) == 0.0
    assert Prices(own).price("mistral", 1, DAY) is None


def test_counts_that_contradict_each_other_cost_nothing_less_than_nothing() -> None:
    assert cost("gpt-5.6-luna", Usage(input_tokens=1, cached_tokens=10)) > 0
