import os
import re
import stat
from pathlib import Path

import pytest

from agent.channels.catalog import NAMES, platform
from agent.channels.credentials import OURS, variable_of
from agent.channels.settings import ChannelsSettings
from agent.config import decode
from agent.errors import ConfigRefused
from agent.provision.credentials import CREDENTIALS, Credstore
from tests.structure.sources import ROOT

# Turns every byte around, as a program that encrypts and knows its way back
TURNS = """#!/usr/bin/env python3
import sys
assert sys.argv[1] in ("encrypt", "decrypt") and "--name=barnacle.api_key" in sys.argv
sys.stdout.buffer.write(bytes(255 - byte for byte in sys.stdin.buffer.read()))
"""
# Encrypts, and cannot undo it
FORGETS = """#!/bin/sh
[ "$1" = encrypt ] && echo sealed
"""
REFUSES = "#!/bin/sh\necho 'no key here' >&2\nexit 1\n"


def _store(folder: Path, program: str) -> Credstore:
    path = folder / "systemd-creds"
    path.write_text(program)
    path.chmod(0o755)
    return Credstore(folder / "plain", folder / "sealed", str(path))


def test_a_secret_is_encrypted_where_the_machine_can(tmp_path: Path) -> None:
    store = _store(tmp_path, TURNS)
    store.put("api_key", "hidden-key")
    [kept] = (tmp_path / "sealed").iterdir()
    assert kept.name == "barnacle.api_key"
    assert b"hidden" not in kept.read_bytes()
    assert not (tmp_path / "plain").exists()
    assert store.read("api_key") == "hidden-key"


@pytest.mark.parametrize("program", [FORGETS, REFUSES])
def test_without_encryption_it_is_for_root_alone(tmp_path: Path, program: str) -> None:
    store = _store(tmp_path, program)
    store.put("api_key", "hidden-key")
    [kept] = (tmp_path / "plain").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert store.read("api_key") == "hidden-key"


def test_without_the_program_it_is_for_root_alone(tmp_path: Path) -> None:
    store = Credstore(tmp_path / "plain", tmp_path / "sealed", str(tmp_path / "none"))
    store.put("api_key", "hidden-key")
    assert store.read("api_key") == "hidden-key"


def test_it_is_kept_in_one_place_and_dropped_from_all(tmp_path: Path) -> None:
    Credstore(tmp_path / "plain").put("api_key", "old")
    store = _store(tmp_path, TURNS)
    assert store.read("api_key") == "old"
    store.put("api_key", "new")
    assert list((tmp_path / "plain").iterdir()) == []
    assert store.read("api_key") == "new"
    store.drop("api_key")
    assert store.read("api_key") == ""


@pytest.fixture
def at_risk(monkeypatch: pytest.MonkeyPatch) -> set[Path]:
    """Files that were removed, and that a power cut may bring back."""
    removed: set[Path] = set()
    unlink, fsync = os.unlink, os.fsync

    def removes(path: Path) -> None:
        unlink(path)
        removed.add(path)

    def syncs(handle: int) -> None:
        fsync(handle)
        folder = Path(f"/proc/self/fd/{handle}").readlink()
        removed.difference_update({one for one in removed if one.parent == folder})

    monkeypatch.setattr(os, "unlink", removes)
    monkeypatch.setattr(os, "fsync", syncs)
    return removed


def test_no_power_cut_brings_back_what_was_dropped(tmp_path: Path, at_risk: set[Path]) -> None:
    store = _store(tmp_path, TURNS)
    store.put("api_key", "old")
    Credstore(tmp_path / "plain").put("api_key", "older")
    store.drop("api_key")
    assert at_risk == set()
    assert store.files("api_key") == []


@pytest.mark.parametrize(("before", "after"), [(REFUSES, TURNS), (TURNS, REFUSES)])
def test_no_power_cut_brings_back_what_another_replaces(
    tmp_path: Path, at_risk: set[Path], before: str, after: str
) -> None:
    _store(tmp_path, before).put("api_key", "old")
    _store(tmp_path, after).put("api_key", "new")
    assert at_risk == set()
    assert len(_store(tmp_path, after).files("api_key")) == 1


def test_what_cannot_be_decrypted_any_more_is_told(tmp_path: Path) -> None:
    _store(tmp_path, TURNS).put("api_key", "hidden-key")
    with pytest.raises(ConfigRefused, match="cannot decrypt the secret api_key any more"):
        _store(tmp_path, REFUSES).read("api_key")


def test_what_no_table_says_is_no_credential() -> None:
    keys = {place[:2] for place in CREDENTIALS if place[0] == "channels"}
    assert keys <= {("channels", name) for name in (*NAMES, "speech")}
    assert CREDENTIALS["channels", "discord", "token"] == "discord_token"
    assert CREDENTIALS["channels", "slack", "app_token"] == "slack_app_token"
    assert len(set(CREDENTIALS.values())) == len(CREDENTIALS)


@pytest.mark.parametrize("name", NAMES)
def test_a_platform_looks_for_each_secret_of_its_table_under_the_name_of_its_credential(
    name: str,
) -> None:
    there = platform(name)
    asked = _Asked()
    list(there.secrets(decode(f"[{name}]", ChannelsSettings, ROOT), asked))
    declared = {CREDENTIALS[place]: place[2] for place in CREDENTIALS if place[1] == name}
    assert {variable_of(credential) for credential in declared} == asked.names
    # What a person is asked for as a secret is kept like one
    assert {one.key for one in there.wanted if one.is_secret} <= set(declared.values())
    assert not {one.key for one in there.wanted if not one.is_secret} & set(declared.values())


def test_the_service_takes_every_credential_that_is_kept() -> None:
    unit = (ROOT / "systemd/barnacle.service").read_text()
    # systemd before 254 takes no pattern: there each is named
    lines = {f"LoadCredential={OURS}{name}" for name in CREDENTIALS.values()}
    assert set(re.findall(r"^LoadCredential=.*$", unit, re.MULTILINE)) == lines
    assert re.findall(r"^ImportCredential=(.*)$", unit, re.MULTILINE) == [f"{OURS}*"]


class _Asked(dict[str, str]):
    """An environment that knows which of our variables somebody looked for."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def get(self, key: str, default: str = "") -> str:  # type: ignore[override]  # as it is used
        if key.startswith("BARNACLE_"):
            self.names.add(key)
        return default
