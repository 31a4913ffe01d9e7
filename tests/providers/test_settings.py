from pathlib import Path

import pytest

from agent.config import ConfigSection, Secret, decode
from agent.errors import ConfigRefused
from agent.providers.settings import ProviderSettings, endpoint


class File(ConfigSection, frozen=True, kw_only=True):
    provider: ProviderSettings = ProviderSettings()


def loaded(text: str) -> ProviderSettings:
    return decode(text, File, Path("barnacle.toml")).provider


def test_every_key_has_a_default() -> None:
    settings = loaded("")
    assert settings == ProviderSettings()
    assert settings.kind == "auto"
    assert not settings.api_key


def test_every_key_can_be_set() -> None:
    settings = loaded(
        """
        [provider]
        kind = "openai"
        model = "llama3.2"
        base_url = "http://127.0.0.1:11434/v1"
        api_key = "sk-canary"
        more_keys = ["sk-canary-2", "sk-canary-3"]
        temperature = 0
        max_tokens = 500
        timeout_s = 60
        first_byte_timeout_s = 90.5
        """
    )
    assert settings.api_key == Secret("sk-canary")
    assert settings.more_keys == (Secret("sk-canary-2"), Secret("sk-canary-3"))
    assert settings.temperature == 0
    assert settings.first_byte_timeout_s == 90.5
    assert "canary" not in repr(settings)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('kind = "opena"', "did you mean 'openai'"),
        ('kind = "custom:ftp://x"', "must look like"),
        ('kind = "azure"', "azure needs base_url, such as https://RESOURCE"),
        ("temperature = 2.5", "temperature"),
        ("max_tokens = 0", "max_tokens"),
        ("timeout_s = 0", "timeout_s"),
        ("first_byte_timeout_s = 601", "first_byte_timeout_s"),
        ('base_url = "api.example.org"', "`provider.base_url`: must look like"),
        ('base_url = "http://u:p@host"', "`provider.base_url`: must have no password"),
        ("api_key = 7", "api_key"),
        ('modell = "x"', "did you mean `model`"),
    ],
)
def test_what_cannot_be_is_refused_by_name(line: str, said: str) -> None:
    with pytest.raises(ConfigRefused) as caught:
        loaded(f"[provider]\n{line}")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://api.openai.com", "https://api.openai.com/v1"),
        ("https://api.openai.com/", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
        ("https://host/v1beta/openai/", "https://host/v1beta/openai"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("http://raspberrypi.local:11434", "http://raspberrypi.local:11434/v1"),
    ],
)
def test_addresses_with_and_without_their_version(base_url: str, url: str) -> None:
    assert endpoint(base_url) == url


def test_a_service_whose_address_is_every_accounts_own() -> None:
    settings = loaded(
        "[provider]\nkind = 'azure'\nbase_url = 'https://mine.openai.azure.com/openai/v1'"
    )
    assert settings.kind == "azure"


@pytest.mark.parametrize(
    "base_url",
    [
        "ftp://host/v1",
        "file:///etc/passwd",
        "http://",
        "http:///v1",
        "//host/v1",
        "http://host:0/v1",
        "http://host:99999/v1",
        "http://host:port/v1",
        "http://[::1/v1",
        "http://host /v1",
        "http://host/v1\n",
        "http://höst/v1",
        "http://host/v1?key=x",
        "http://host/v1#x",
        "http://user@host/v1",
    ],
)
def test_what_is_no_address_of_a_service_is_refused(base_url: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        endpoint(base_url)


def test_an_unknown_template_is_refused_with_the_names() -> None:
    assert ProviderSettings(template="mistral").template == "mistral"
    with pytest.raises(ValueError, match=r"one of apertus, .*hermes.*, not 'hermes2'"):
        ProviderSettings(template="hermes2")
