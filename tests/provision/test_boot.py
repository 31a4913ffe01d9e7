"""A start with files on the card, as a person or Raspberry Pi Imager leaves them there."""

import errno
import logging
import os
import stat
import tomllib
from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.provision.firmware import Firmware
from agent.provision.wifi import NAME as CONNECTION
from tests.provision.conftest import Machine
from tests.structure.sources import ROOT

KEY = "sk-test-4f2a9c71d0e8"
TOKEN = "123456789:AAFakeTokenOfABotThatIsNone"
WIFI = "correct horse battery"
PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHJlYWxseU5vS2V5QXRBbGxKdXN0VGVzdA== mei@laptop"
WHOLE = f"""\
# My greenhouse
[device]
hostname = "greenhouse"   # beside the tomatoes
timezone = "Europe/Berlin"
locale = "de_DE.UTF-8"

[wifi]
ssid = "Café Möwe"
password = "{WIFI}"
country = "DE"

[provider]
kind = "openai"
api_key = "{KEY}"

[channels.telegram]
token = "{TOKEN}"

[ssh]
keys = ["{PUBLIC_KEY}"]

[agent]
name = "Rosa"
"""


def test_everything_that_the_file_says_is_taken_over(machine: Machine) -> None:
    machine.write(WHOLE)
    assert machine.start()
    assert tomllib.loads(machine.config.read_text()) == {
        "provider": {"kind": "openai"},
        "channels": {"telegram": {}},
        "agent": {"name": "Rosa"},
    }
    assert (machine.credstore / "barnacle.api_key").read_text() == f"{KEY}\n"
    assert (machine.credstore / "barnacle.telegram_token").read_text() == f"{TOKEN}\n"
    assert f"psk={WIFI}" in (machine.connections / CONNECTION).read_text()
    assert (machine.device / "hostname").read_text() == "greenhouse\n"
    assert (machine.device / "localtime").readlink() == Path("/usr/share/zoneinfo/Europe/Berlin")
    assert (machine.device / "locale.conf").read_text() == "LANG=de_DE.UTF-8\n"
    assert (machine.device / "wifi-country").read_text() == "DE\n"
    assert (machine.device / "authorized_keys").read_text() == f"{PUBLIC_KEY}\n"


def test_secrets_are_for_root_alone(machine: Machine) -> None:
    machine.write(WHOLE)
    machine.start()
    secret = [
        machine.connections / CONNECTION,
        machine.device / "authorized_keys",
        *machine.credstore.iterdir(),
    ]
    assert len(secret) == 4
    assert {stat.S_IMODE(path.stat().st_mode) for path in secret} == {0o600}
    assert stat.S_IMODE(machine.credstore.stat().st_mode) == 0o700


def test_no_secret_stays_on_the_card_and_the_rest_stays_readable(machine: Machine) -> None:
    machine.write(WHOLE)
    machine.start()
    left = machine.read()
    assert not [secret for secret in (KEY, TOKEN, WIFI) if secret in left]
    assert 'hostname = "greenhouse"   # beside the tomatoes' in left
    assert "# My greenhouse" in left
    assert "\n# Barnacle has stored the secrets of this file" in left
    assert tomllib.loads(left)["wifi"]["password"] == "*" * len(WIFI)
    assert [sorted(secrets) for secrets in machine.swept] == [sorted((KEY, TOKEN, WIFI))]


def test_a_password_that_is_the_networks_name_is_not_looked_for(machine: Machine) -> None:
    machine.write('[wifi]\nssid = "password"\npassword = "password"\n')
    machine.start()
    assert 'ssid = "password"' in machine.read()
    assert machine.swept == [()]


def test_the_next_start_does_nothing(machine: Machine) -> None:
    machine.write(WHOLE)
    machine.start()
    before, card = machine.kept(), machine.read()
    assert machine.start()
    assert (machine.kept(), machine.read()) == (before, card)
    assert len(machine.swept) == 1


def test_behind_stars_the_secrets_are_looked_for_as_well(machine: Machine) -> None:
    machine.write(WHOLE)
    machine.start()
    machine.write(machine.read() + "# changed\n")
    machine.start()
    assert sorted(machine.swept[1]) == sorted(machine.swept[0])


def test_a_changed_file_is_taken_over_and_stars_keep_their_secrets(machine: Machine) -> None:
    machine.write(WHOLE)
    machine.start()
    machine.write(machine.read().replace("greenhouse", "balcony").replace("Rosa", "Fritz"))
    assert machine.start()
    assert machine.errors() == ""
    assert (machine.device / "hostname").read_text() == "balcony\n"
    assert tomllib.loads(machine.config.read_text())["agent"] == {"name": "Fritz"}
    assert (machine.credstore / "barnacle.api_key").read_text() == f"{KEY}\n"
    assert f"psk={WIFI}" in (machine.connections / CONNECTION).read_text()
    assert machine.read().count("Barnacle has stored the secrets") == 1


def test_a_new_secret_over_its_stars_replaces_the_old_one(machine: Machine) -> None:
    machine.write(WHOLE)
    machine.start()
    machine.write(machine.read().replace(f'"{"*" * len(KEY)}"', '"sk-another-key"'))
    assert machine.start()
    assert (machine.credstore / "barnacle.api_key").read_text() == "sk-another-key\n"
    assert "sk-another-key" not in machine.read()
    assert (machine.credstore / "barnacle.telegram_token").read_text() == f"{TOKEN}\n"


def test_a_table_that_is_not_said_any_more_stays(machine: Machine) -> None:
    machine.write(WHOLE)
    machine.start()
    machine.write('[device]\nhostname = "shed"\n')
    assert machine.start()
    assert tomllib.loads(machine.config.read_text())["channels"] == {"telegram": {}}
    assert (machine.credstore / "barnacle.telegram_token").exists()


def test_a_service_that_is_said_without_its_key_has_none(machine: Machine) -> None:
    machine.write(WHOLE)
    machine.start()
    machine.write('[provider]\nkind = "ollama"\nmodel = "qwen3"\n')
    assert machine.start()
    assert not (machine.credstore / "barnacle.api_key").exists()


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_file_of_windows_is_read_and_keeps_its_form(machine: Machine, mark: str) -> None:
    machine.write(mark + WHOLE.replace("\n", "\r\n"))
    assert machine.start()
    assert (machine.device / "hostname").read_text() == "greenhouse\n"
    left = machine.read()
    assert left.startswith(mark + "# My greenhouse")
    assert left.count("\n") == left.count("\r\n")
    assert machine.start()


def test_every_mistake_is_told_at_once_and_nothing_is_changed(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    text = WHOLE.replace("Europe/Berlin", "Berlin").replace("password", "pasword")
    machine.write(text.replace('"DE"', '"Germany"'))
    (machine.card / "user-data").write_text("hostname: under_score\n")
    before = machine.kept()
    with caplog.at_level(logging.ERROR):
        assert not machine.start()
    told = machine.errors()
    assert told.count("\n") == told.count("\r\n")
    assert "has changed nothing" in told
    for place in ("`device.timezone`", "`wifi.pasword`", "`wifi.country`", "user-data"):
        assert place in told
        assert place in caplog.text
    assert "did you mean `password`?" in told
    assert (machine.device / "refused").read_text() in told.replace("\r\n", "\n")
    (machine.device / "refused").unlink()
    assert machine.kept() == before
    assert (machine.card / "user-data").exists()
    assert WIFI in machine.read()


def test_the_errors_go_when_all_is_well(machine: Machine) -> None:
    machine.write("[device]\nhostname = 5\n")
    assert not machine.start()
    assert "`device.hostname`" in machine.errors()
    machine.write('[device]\nhostname = "shed"\n')
    assert (machine.device / "refused").stat().st_mode & 0o777 == 0o644
    assert machine.start()
    assert machine.errors() == ""
    assert not (machine.device / "refused").exists()


def test_the_same_mistake_is_not_written_again(machine: Machine) -> None:
    machine.write("[device]\nhostname = 5\n")
    machine.start()
    errors = machine.card / "barnacle-errors.txt"
    first = errors.stat().st_mtime_ns
    machine.start()
    assert errors.stat().st_mtime_ns == first


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (WHOLE.encode("utf-16"), 'the encoding "UTF-8"'),
        ("[device]\nhostname = “shed”\n".encode(), "line 2"),
        ('[device]\nhostname = "Caf\xe9"\n'.encode("latin-1"), "line 2: not UTF-8"),
        (b"#" * 70_000, "is longer than"),
        ('[provider]\nkind = "openai"\n', "there is no key"),
        ('[provider]\napi_key = "the key"\n', "provider.api_key is not a valid key"),
        ('[channels.telegram]\ntoken = "hello"\n', "expected a token from @BotFather"),
        (
            "[channels.telegram]\n",
            "channels.telegram: token is missing; write it there. Write to @Bot",
        ),
        ("[channels.email]\n", "channels.email: address is missing; write it there"),
        ("[channels.imessage]\n", "Apple lets messages go through a Mac alone: install"),
        ('[wifi]\npassword = "12345678"\n', "`wifi.ssid`: must be the network's name"),
        ('[wifi]\nssid = "a"\npassword = "short"\n', "8 to 63 plain characters"),
        ('[ssh]\nkeys = ["-----BEGIN OPENSSH PRIVATE KEY-----"]\n', "one line of a .pub file"),
        ('[provider]\nkind = "openai"\napi_key = "*****"\n', "none is stored"),
    ],
)
def test_what_cannot_be_used_is_explained(
    machine: Machine, text: str | bytes, problem: str
) -> None:
    machine.write(text)
    assert not machine.start()
    assert problem in machine.errors()
    assert "Traceback" not in machine.errors()
    assert not machine.config.exists()


def test_a_refused_secret_is_not_repeated_in_the_errors(machine: Machine) -> None:
    machine.write('[wifi]\nssid = "a"\npassword = "geheim"\n[provider]\napi_key = 5\n')
    machine.start()
    assert "geheim" not in machine.errors()


def test_a_file_with_a_hidden_ending_is_named(machine: Machine) -> None:
    machine.write(_template())
    machine.write(WHOLE, "barnacle.toml.txt")
    assert not machine.start()
    assert "barnacle.toml.txt: must be named barnacle.toml" in machine.errors()


def test_the_template_says_nothing_until_it_is_edited(machine: Machine) -> None:
    machine.write(_template())
    assert machine.start()
    assert not machine.config.exists()
    assert machine.read() == _template()


def test_every_line_of_the_template_is_right_without_its_mark(machine: Machine) -> None:
    lines = []
    for line in _template().splitlines():
        bare = line.removeprefix("# ")
        is_setting = bare.startswith("[") or " = " in bare
        lines.append(bare if is_setting else line)
    text = "\n".join(lines).replace("123456789:ABC...", TOKEN).replace("AAAA...", "A" * 68)
    text = text.replace("the key from your account there", KEY)
    machine.write(text.replace('model = "leave out for the usual one"', ""))
    assert machine.start(), machine.errors()
    assert (machine.device / "hostname").read_text() == "greenhouse\n"
    assert (machine.connections / CONNECTION).exists()


def test_a_card_that_cannot_be_written_is_told_in_the_log(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    machine.write("[device]\nhostname = 5\n")
    (machine.card / "barnacle-errors.txt").mkdir()
    assert not machine.start()
    assert "`device.hostname`" in caplog.text
    assert "cannot write (file=barnacle-errors.txt" in caplog.text


def test_a_full_data_partition_is_told_on_the_card(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, _content: bytes) -> None:
        raise StorageFull(f"{path} was not written: No space left on device")

    monkeypatch.setattr("agent.provision.boot.write_atomic", full)
    machine.write('[agent]\nname = "Rosa"\n')
    assert not machine.start()
    assert "No space left on device" in machine.errors()
    # Some of it was kept before
    assert 'name = "Rosa"' in machine.config.read_text()
    assert "changed nothing" not in machine.errors()


def test_no_card_is_no_mistake(machine: Machine) -> None:
    machine.card.rmdir()
    assert machine.start()
    assert Firmware(machine.card, is_mounted=False).folder == machine.card


def _template() -> str:
    return (ROOT / "image/barnacle.toml").read_text()


def test_a_card_without_room_for_the_remark_is_taken_over_all_the_same(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.write(WHOLE)
    room, pwrite = len(WHOLE.encode()) + 20, os.pwrite

    def write(handle: int, content: bytes, at: int) -> int:
        if at >= room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return pwrite(handle, content[: room - at], at)

    monkeypatch.setattr(os, "pwrite", write)
    assert machine.start()
    assert len(machine.read().encode()) == len(WHOLE.encode())
    assert KEY not in machine.read()
    # What deleted files still hold of the secrets is looked for, too, and it is done once
    assert len(machine.swept) == 1
    assert machine.start()
    assert len(machine.swept) == 1
