from pathlib import Path

import pytest

from agent.config import decode
from agent.errors import ConfigRefused
from agent.settings import Settings


def refused(text: str) -> str:
    with pytest.raises(ConfigRefused) as caught:
        decode(text, Settings, Path("x.toml"))
    return str(caught.value)


def test_routes_rules_and_prices_are_read() -> None:
    text = """
    [provider.routes]
    fast = "groq:llama-4"
    [provider.classify.fast]
    keywords = ["quick"]
    [provider.prices]
    "llama-4" = { input = 0.1, output = 0.2 }
    """
    provider = decode(text, Settings, Path("x.toml")).provider
    assert provider.routes == {"fast": "groq:llama-4"}
    assert provider.classify["fast"].keywords == ("quick",)
    assert provider.prices["llama-4"].output == 0.2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[provider.classify.nope]\nkeywords = ["x"]', "`provider.classify`: names 'nope'"),
        ('[provider.routes]\n"Fa st" = "groq"', "route names must be lower-case letters"),
        ("[provider.routes]\nfast = 1", "`provider.routes.fast`: must be text in quotes"),
        ('[provider.prices]\n"a-1" = { input = -1, output = 1 }', "`provider.prices.a-1`:"),
        (
            '[provider.routes]\na = "groq"\n[provider.classify.a]\nmin_chars = 9\nmax_chars = 2',
            "min_chars",
        ),
        (
            '[provider.routes]\na = "groq"\n[provider.classify.a]\n',
            "set keywords, min_chars or",
        ),
        ('[provider]\nmodel = "hint:fast"', "`provider.model`: must be a model"),
        ('[provider]\nfallbacks = ["hint:fast"]', "`provider.fallbacks`: must be services"),
        ('[provider.routes]\nfast = "hint:deep"', "`provider.routes`: must lead to services"),
        ("[provider]\ndaily_limit_usd = -1", "`provider.daily_limit_usd`: must be"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_read(text: str, said: str) -> None:
    assert said in refused(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[provider.routes]\nfast = "mistrl:x"',
            "provider.routes.fast: 'mistrl' is not a known",
        ),
        (
            '[provider]\nfallbacks = ["opnai"]',
            "provider.fallbacks: 'opnai' is not a known",
        ),
    ],
)
def test_a_service_that_nobody_knows_is_refused_when_it_is_read(text: str, said: str) -> None:
    assert said in refused(text)


def test_tables_of_ones_own_and_the_service_itself_may_be_named() -> None:
    text = """
    [provider]
    fallbacks = ["quick", "groq:x"]
    [provider.routes]
    deep = "provider:large"
    [providers.quick]
    base_url = "http://127.0.0.1:1"
    """
    assert decode(text, Settings, Path("x.toml")).provider.routes == {"deep": "provider:large"}
