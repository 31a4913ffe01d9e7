import pytest

from agent.config import Secret
from agent.errors import ConfigRefused
from agent.providers.credentials import Credential, chosen_kind, find_key
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
    with pytest.raises(ConfigRefused, match="BARNACLE_API_KEY is not a key") as caught:
        find_key(ProviderSettings(), {"BARNACLE_API_KEY": value})
    assert value not in str(caught.value)


def test_a_configured_key_is_checked_too() -> None:
    with pytest.raises(ConfigRefused, match=r"provider\.api_key is not a key"):
        find_key(ProviderSettings(api_key=Secret("two words")), {})


LOCAL = "http://127.0.0.1:8080"


@pytest.mark.parametrize(
    ("settings", "environ", "kind"),
    [
        (ProviderSettings(), {}, "offline"),
        (ProviderSettings(), {"OPENAI_API_KEY": "x"}, "openai"),
        (ProviderSettings(base_url=LOCAL), {}, "openai"),
        (ProviderSettings(api_key=Secret("x")), {}, "openai"),
        (ProviderSettings(kind="offline", base_url=LOCAL), {"API_KEY": "x"}, "offline"),
        (ProviderSettings(kind="openai", base_url=LOCAL), {}, "openai"),
        (ProviderSettings(kind="openai"), {"API_KEY": "x"}, "openai"),
    ],
)
def test_what_auto_stands_for(
    settings: ProviderSettings, environ: dict[str, str], kind: str
) -> None:
    assert chosen_kind(settings, environ) == kind


def test_a_service_that_was_asked_for_and_has_no_key_is_refused_by_name() -> None:
    with pytest.raises(ConfigRefused, match=r"set provider\.api_key or OPENAI_API_KEY"):
        chosen_kind(ProviderSettings(kind="openai"), {})
