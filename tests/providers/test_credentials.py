import pytest

from agent.config import Secret
from agent.errors import ConfigRefused
from agent.providers import catalog
from agent.providers.credentials import Credential, chosen_service, find_key, find_keys
from agent.providers.settings import ProviderSettings

EVERYWHERE = {"API_KEY": "third", "BARNACLE_API_KEY": "second", "OPENAI_API_KEY": "first"}


def without(*names: str) -> dict[str, str]:
    return {name: value for name, value in EVERYWHERE.items() if name not in names}


def test_what_is_configured_goes_before_the_environment() -> None:
    settings = ProviderSettings(api_key=Secret("configured"))
    assert find_key(settings, EVERYWHERE) == Credential(Secret("configured"), "provider.api_key")


@pytest.mark.parametrize(
    ("environ", "source"),
    [
        (EVERYWHERE, "OPENAI_API_KEY"),
        (without("OPENAI_API_KEY"), "BARNACLE_API_KEY"),
        (without("OPENAI_API_KEY", "BARNACLE_API_KEY"), "API_KEY"),
        ({**EVERYWHERE, "OPENAI_API_KEY": " "}, "BARNACLE_API_KEY"),
    ],
)
def test_the_environment_is_asked_in_order(environ: dict[str, str], source: str) -> None:
    found = find_key(ProviderSettings(), environ)
    assert found == Credential(Secret(environ[source]), source)


def test_spaces_around_a_key_of_the_environment_are_no_part_of_it() -> None:
    found = find_key(ProviderSettings(), {"API_KEY": " key\n"})
    assert found is not None
    assert found.key.reveal() == "key"


def test_no_key_is_no_error_yet() -> None:
    assert find_key(ProviderSettings(), {}) is None


@pytest.mark.parametrize("value", ["two words", "ключ", "a\r\nX-Evil: 1", "a\x00b", "sk-…abc"])
def test_what_cannot_be_a_key_is_refused_by_its_source_without_showing_it(value: str) -> None:
    with pytest.raises(ConfigRefused, match="BARNACLE_API_KEY is not a valid key") as caught:
        find_key(ProviderSettings(), {"BARNACLE_API_KEY": value})
    assert value not in str(caught.value)


def test_a_configured_key_is_checked_too() -> None:
    with pytest.raises(ConfigRefused, match=r"provider\.api_key is not a valid key"):
        find_key(ProviderSettings(api_key=Secret("two words")), {})


LOCAL = "http://127.0.0.1:8080"


@pytest.mark.parametrize(
    ("settings", "environ", "name"),
    [
        (ProviderSettings(), {}, None),
        (ProviderSettings(), {"OPENAI_API_KEY": "x"}, "openai"),
        (ProviderSettings(), {"GROQ_API_KEY": "x"}, "groq"),
        (ProviderSettings(), {"GROQ_API_KEY": " ", "API_KEY": "x"}, "openai"),
        # Many machines have one of these for another reason
        (ProviderSettings(), {"GITHUB_TOKEN": "x", "HF_TOKEN": "x"}, None),
        (ProviderSettings(base_url=LOCAL), {}, "openai"),
        (ProviderSettings(api_key=Secret("x")), {}, "openai"),
        (ProviderSettings(kind="offline", base_url=LOCAL), {"API_KEY": "x"}, None),
        (ProviderSettings(kind="openai", base_url=LOCAL), {}, "openai"),
        (ProviderSettings(kind="openai"), {"API_KEY": "x"}, "openai"),
        (ProviderSettings(kind="grok"), {"XAI_API_KEY": "x"}, "xai"),
        (ProviderSettings(kind="llama.cpp"), {}, "llamacpp"),
        (ProviderSettings(kind=f"custom:{LOCAL}"), {}, "custom"),
    ],
)
def test_which_service_is_asked(
    settings: ProviderSettings, environ: dict[str, str], name: str | None
) -> None:
    service = chosen_service(settings, environ)
    assert (service and service.name) == name


@pytest.mark.parametrize(
    ("kind", "variable"), [("openai", "OPENAI_API_KEY"), ("kimi", "MOONSHOT_API_KEY")]
)
def test_a_service_that_was_asked_for_and_has_no_key_is_refused_by_name(
    kind: str, variable: str
) -> None:
    with pytest.raises(ConfigRefused, match=rf"set provider\.api_key or {variable}"):
        chosen_service(ProviderSettings(kind=kind), {})


def test_further_keys_follow_the_first_and_none_is_asked_twice() -> None:
    settings = ProviderSettings(more_keys=(Secret("b"), Secret("a"), Secret("b")))
    found = find_keys(settings, {"OPENAI_API_KEY": "a"}, catalog.OPENAI)
    assert [credential.key.reveal() for credential in found] == ["a", "b"]


def test_a_key_of_a_service_goes_before_one_for_any() -> None:
    environ = {"API_KEY": "any", "MISTRAL_API_KEY": "own", "OPENAI_API_KEY": "other"}
    found = find_key(ProviderSettings(kind="mistral"), environ, catalog.find("mistral"))
    assert found == Credential(Secret("own"), "MISTRAL_API_KEY")
