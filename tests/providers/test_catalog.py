import pytest

from agent.providers import catalog
from agent.providers.catalog import Auth
from agent.providers.settings import ProviderSettings, endpoint


def test_names_and_aliases_are_one_services_each() -> None:
    names = [name for service in catalog.every() for name in (service.name, *service.aliases)]
    assert len(names) == len(set(names))
    for service in catalog.every():
        assert all(catalog.find(name) is service for name in (service.name, *service.aliases))


@pytest.mark.parametrize("service", list(catalog.every()), ids=lambda service: service.name)
def test_every_address_is_one(service: catalog.KnownService) -> None:
    address = service.url or service.own_url
    assert endpoint(address, service.usual_path) == address
    assert bool(service.url) != bool(service.own_url)
    assert address.startswith("https://") or not service.needs_key
    assert (service.auth is Auth.BEARER) == (service.auth_name == "")
    assert service.key_variables or not service.needs_key
    ProviderSettings(kind=service.name, base_url=service.own_url)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("grok", "xai"),
        ("kimi", "moonshot"),
        ("dashscope", "qwen"),
        ("zhipu", "glm"),
        ("z.ai", "zai"),
        ("hf", "huggingface"),
        ("google", "gemini"),
        ("OpenRouter", "openrouter"),
    ],
)
def test_services_are_known_by_their_other_names(alias: str, name: str) -> None:
    assert catalog.find(alias).name == name


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'mistral'"):
        catalog.find("mistrl")
    with pytest.raises(ValueError, match="barnacle models --services"):
        catalog.find("zzzzzz")


def test_a_sign_in_that_is_not_for_us_is_refused_with_the_way_that_is() -> None:
    with pytest.raises(ValueError, match=r"Google forbids.*use 'gemini' with a key"):
        catalog.find("Gemini-CLI")


def test_an_address_of_ones_own_needs_no_key() -> None:
    service = catalog.find("custom:http://127.0.0.1:9000/v1")
    assert (service.url, service.needs_key) == ("http://127.0.0.1:9000/v1", False)
