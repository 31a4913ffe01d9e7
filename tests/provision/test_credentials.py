import re
import stat
from pathlib import Path

import pytest

from agent.errors import ConfigRefused
from agent.provision.credentials import CREDENTIALS, Credstore
from tests.structure.sources import ROOT

# Turns every byte around, as a program that encrypts and knows its way back
TURNS = """#!/usr/bin/env python3
import sys
assert sys.argv[1] in ("encrypt", "decrypt") and "--name=api_key" in sys.argv
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
    assert kept.name == "api_key"
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


def test_what_cannot_be_decrypted_any_more_is_told(tmp_path: Path) -> None:
    _store(tmp_path, TURNS).put("api_key", "hidden-key")
    with pytest.raises(ConfigRefused, match="api_key cannot be decrypted any more"):
        _store(tmp_path, REFUSES).read("api_key")


def test_the_service_takes_every_credential_that_is_kept() -> None:
    unit = (ROOT / "systemd/barnacle.service").read_text()
    image = ROOT / "image/overlay/usr/lib/systemd/system/barnacle.service.d/image.conf"
    for name in CREDENTIALS.values():
        assert f"\nLoadCredential={name}:barnacle.{name}\n" in unit
        assert f"\nImportCredential={name}\n" in image.read_text()
    assert len(re.findall(r"^LoadCredential=", unit, re.MULTILINE)) == len(CREDENTIALS)
