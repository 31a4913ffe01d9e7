from pathlib import Path

import pytest

from agent.config import decode
from agent.errors import ConfigRefused
from agent.settings import Settings


def refused(text: str) -> str:
    with pytest.raises(ConfigRefused) as caught:
        decode(text, Settings, Path("x.toml"))
    return str(caught.value)


def test_routes_and_rules_are_read() -> None:
    text = """
    [provider.routes]
    fast = "groq:llama-4"
    [provider.classify.fast]
    keywords = ["quick"]
    """
    provider = decode(text, Settings, Path("x.toml")).provider
    assert provider.routes == {"fast": "groq:llama-4"}
    assert provider.classify["fast"].keywords == ("quick",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[provider.classify.nope]\nkeywords = ["x"]', "`provider.classify`: names 'nope'"),
        ('[provider.routes]\n"Fa st" = "groq"', "must be named by small letters"),
        ("[provider.routes]\nfast = 1", "`provider.routes.fast`: must be text in quotes"),
        (
            '[provider.routes]\na = "groq"\n[provider.classify.a]\nmin_chars = 9\nmax_chars = 2',
            "min_chars",
        ),
        ('[provider.routes]\na = "groq"\n[provider.classify.a]\n', "must say which messages"),
        ('[provider]\nmodel = "hint:fast"', "`provider.model`: must be a model"),
        ('[provider]\nfallbacks = ["hint:fast"]', "`provider.fallbacks`: must be services"),
        ('[provider.routes]\nfast = "hint:deep"', "`provider.routes`: must lead to services"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_read(text: str, said: str) -> None:
    assert said in refused(text)
