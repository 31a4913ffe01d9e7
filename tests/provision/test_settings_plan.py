import tomllib
from pathlib import Path

import pytest

from agent.errors import ConfigRefused
from agent.provision.credentials import Credstore
from agent.provision.settings_plan import ProvisionPaths, planned, take
from agent.provision.toml_text import Table

PROVIDER: Table = {"provider": {"kind": "openai", "api_key": "first-key"}}
TELEGRAM: Table = {"channels": {"telegram": {"token": "123:abc"}}}


def _taken(table: Table, places: ProvisionPaths) -> Table:
    take(planned(table, "setup", places), places)
    return tomllib.loads(places.config.read_text())


def test_without_a_credstore_the_configuration_holds_the_secrets_alone(tmp_path: Path) -> None:
    places = ProvisionPaths(tmp_path / "own/barnacle.toml")
    assert _taken(PROVIDER, places) == PROVIDER
    assert places.config.stat().st_mode & 0o777 == 0o600


def test_channels_are_taken_one_by_one(tmp_path: Path) -> None:
    places = ProvisionPaths(tmp_path / "barnacle.toml")
    _taken({"channels": {"signal": {}}, "agent": {"name": "Rosa"}}, places)
    merged = _taken(TELEGRAM, places)
    assert merged == {
        "channels": {"signal": {}, "telegram": {"token": "123:abc"}},
        "agent": {"name": "Rosa"},
    }


def test_what_was_before_is_kept_beside_it(tmp_path: Path) -> None:
    places = ProvisionPaths(tmp_path / "barnacle.toml")
    places.config.write_text("# by hand\n[agent]\nname = 'Rosa'\n")
    _taken({"log": {"level": "debug"}}, places)
    assert (tmp_path / "barnacle.toml.before").read_text().startswith("# by hand")


def test_the_same_again_writes_nothing(tmp_path: Path) -> None:
    places = ProvisionPaths(tmp_path / "barnacle.toml", Credstore(tmp_path / "credstore"))
    _taken(PROVIDER, places)
    before = places.config.stat().st_ino
    _taken(PROVIDER, places)
    assert places.config.stat().st_ino == before


def test_a_configuration_that_no_agent_can_use_is_left_behind(tmp_path: Path) -> None:
    places = ProvisionPaths(tmp_path / "barnacle.toml")
    places.config.write_text("[agent]\nnme = 5\n")
    assert _taken({"agent": {"name": "Rosa"}}, places) == {"agent": {"name": "Rosa"}}
    assert (tmp_path / "barnacle.toml.before").read_text() == "[agent]\nnme = 5\n"


def test_stars_find_what_the_configuration_holds(tmp_path: Path) -> None:
    places = ProvisionPaths(tmp_path / "barnacle.toml")
    more: Table = {"provider": {"kind": "openai", "api_key": "a-key", "more_keys": ["b-key"]}}
    _taken(more, places)
    starred: Table = {"provider": {"kind": "openai", "api_key": "*****", "more_keys": ["*****"]}}
    assert _taken(starred, places) == more


def test_a_platform_may_go_without_the_secret_that_it_does_not_need(tmp_path: Path) -> None:
    places = ProvisionPaths(tmp_path / "barnacle.toml", Credstore(tmp_path / "credstore"))
    broker: Table = {"channels": {"mqtt": {"url": "mqtt://192.168.1.20"}}}
    assert _taken(broker, places) == broker
    broker = {"channels": {"mqtt": {"url": "mqtt://192.168.1.20", "password": "for-broker"}}}
    assert _taken(broker, places) == {"channels": {"mqtt": {"url": "mqtt://192.168.1.20"}}}
    assert (tmp_path / "credstore/barnacle.mqtt_password").read_text() == "for-broker\n"


def test_a_key_in_the_configuration_becomes_a_credential(tmp_path: Path) -> None:
    config = tmp_path / "barnacle.toml"
    _taken(PROVIDER, ProvisionPaths(config))
    places = ProvisionPaths(config, Credstore(tmp_path / "credstore"))
    assert _taken({"agent": {"name": "Rosa"}}, places)["provider"] == {"kind": "openai"}
    assert places.credstore is not None
    assert places.credstore.read("api_key") == "first-key"


def test_nothing_is_planned_that_no_agent_would_start_with(tmp_path: Path) -> None:
    places = ProvisionPaths(tmp_path / "barnacle.toml", Credstore(tmp_path / "credstore"))
    with pytest.raises(ConfigRefused, match="there is no key"):
        planned({"provider": {"kind": "openai"}}, "setup", places)
    with pytest.raises(ConfigRefused, match=r"setup: `agent\.name`"):
        planned({"agent": {"name": 5}}, "setup", places)
    assert list(tmp_path.iterdir()) == []


def test_a_secret_of_ones_own_environment_counts_for_ones_own_agent_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BARNACLE_TELEGRAM_TOKEN", "123456:of-the-environment")
    bare: Table = {"channels": {"telegram": {}}}
    assert _taken(bare, ProvisionPaths(tmp_path / "own.toml")) == bare
    with pytest.raises(ConfigRefused, match=r"channels\.telegram: token is missing"):
        planned(
            bare, "setup", ProvisionPaths(tmp_path / "b.toml", Credstore(tmp_path / "credstore"))
        )


def test_comments_and_order_stay(tmp_path: Path) -> None:
    places = ProvisionPaths(tmp_path / "barnacle.toml")
    places.config.write_text(
        "# by hand\n[log]\nlevel = 'info'  # quiet\n\n[agent]\nname = 'Rosa'\n"
    )
    _taken({"agent": {"name": "Iris"}}, places)
    assert places.config.read_text() == (
        "# by hand\n[log]\nlevel = 'info'  # quiet\n\n[agent]\nname = \"Iris\"\n"
    )


def test_a_table_can_go(tmp_path: Path) -> None:
    places = ProvisionPaths(tmp_path / "barnacle.toml")
    _taken({"channels": {"signal": {}}, "agent": {"name": "Rosa"}}, places)
    take(planned({}, "settings", places, ("channels", "signal")), places)
    assert tomllib.loads(places.config.read_text()) == {"agent": {"name": "Rosa"}}
