import msgspec

from agent.config import Secret, decode
from agent.provision.secret_values import drop, found, is_starred, put, secrets_in
from agent.provision.settings import CardSettings
from agent.provision.toml_text import Table
from tests.structure.sources import ROOT


def _secret_keys(kind: object) -> int:
    """How many secrets a type has room for, however deep."""
    if kind is Secret:
        return 1
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return sum(_secret_keys(field.type) for field in msgspec.structs.fields(kind))
    return sum(map(_secret_keys, getattr(kind, "__args__", ())))


def test_every_kind_of_place_is_looked_into() -> None:
    text = (
        '[provider]\napi_key = "a1"\nmore_keys = ["a2", "a3"]\n[providers.backup]\napi_key = "a4"\n'
        '[mcp.weather]\nurl = "https://example.org/mcp"\nheaders = {Authorization = "a5"}\n'
        '[channels.webhook]\nsecret = "a6"\n[wifi]\nssid = "a"\npassword = "a7a7a7a7"\n'
    )
    told = {
        secret.reveal(): place for place, secret in secrets_in(decode(text, CardSettings, ROOT))
    }
    assert told == {
        "a1": ("provider", "api_key"),
        "a2": ("provider", "more_keys", 0),
        "a3": ("provider", "more_keys", 1),
        "a4": ("providers", "backup", "api_key"),
        "a5": ("mcp", "weather", "headers", "Authorization"),
        "a6": ("channels", "webhook", "secret"),
        "a7a7a7a7": ("wifi", "password"),
    }


def test_there_are_secrets_to_be_found() -> None:
    assert _secret_keys(CardSettings) >= len(("provider", "more", "telegram", "speech", "wifi"))


def test_stars_alone_stand_for_a_secret() -> None:
    assert is_starred("***")
    assert not is_starred("")
    assert not is_starred("**a")


def test_what_is_at_a_place_is_found_set_and_dropped() -> None:
    table: Table = {"a": {"b": ["x", "y"], "c": "z"}}
    assert found(table, ("a", "b", 1)) == "y"
    assert found(table, ("a", "b", 5)) is None
    assert found(table, ("a", "c", "d")) is None
    put(table, ("a", "b", 0), "new")
    drop(table, ("a", "c"))
    drop(table, ("nothing", "here"))
    assert table == {"a": {"b": ["new", "y"]}}
