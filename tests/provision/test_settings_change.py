import tomllib
from pathlib import Path

import pytest

from agent.app.console.settings_request import (
    ChangeVerdict,
    Opening,
    SettingsAnswer,
    SettingsRequest,
    hash_of,
)
from agent.provision.credentials import Credstore
from agent.provision.settings_change import SettingsChange
from agent.provision.settings_plan import BEFORE, ProvisionPaths

TOKEN = "123456:of-telegram-with-many-letters"
FILE = f"""\
# My greenhouse
[agent]
name = "Rosa"  # after grandma

[channels.telegram]
token = "{TOKEN}"
"""


class Change:
    """A file, and the program's answers about it."""

    def __init__(self, folder: Path, credstore: Credstore | None = None) -> None:
        self.config = folder / "barnacle.toml"
        self.config.write_text(FILE)
        self._change = SettingsChange(ProvisionPaths(self.config, credstore))

    def ask(self, section: str, **given: object) -> SettingsAnswer:
        names = {"dropped", "is_removed", "is_final", "confirmed", "seen"}
        told = {name: value for name, value in given.items() if name in names}
        values = {name: str(value) for name, value in given.items() if name not in names}
        wanted = {"seen": hash_of(self.config.read_bytes()), **told}
        return self._change.answer(
            SettingsRequest(where=tuple(section.split(".")), values=values, **wanted)  # type: ignore[arg-type]  # as named
        )


@pytest.fixture
def change(tmp_path: Path) -> Change:
    return Change(tmp_path)


def test_a_change_is_shown_before_it_is_written(change: Change) -> None:
    answer = change.ask("agent", name="Iris")
    assert answer.verdict is ChangeVerdict.PLANNED
    assert '-name = "Rosa"  # after grandma' in answer.diff
    assert '+name = "Iris"  # after grandma' in answer.diff
    assert change.config.read_text() == FILE
    assert change.ask("agent", name="Iris", is_final=True).verdict is ChangeVerdict.TAKEN
    assert change.config.read_text() == FILE.replace("Rosa", "Iris")
    assert change.config.with_name(change.config.name + BEFORE).read_text() == FILE


def test_a_mistake_is_told_in_the_words_of_the_file_at_its_key(change: Change) -> None:
    answer = change.ask("agent", turn_timeout_s="soon", autonomy="ful")
    assert answer.verdict is ChangeVerdict.REFUSED
    told = {one.key: one.text for one in answer.problems}
    assert told["turn_timeout_s"] == 'must be a whole number from 10 to 1200, not "soon"'
    assert "did you mean `full`?" in told["autonomy"]


def test_a_mistake_across_sections_is_told_of_the_whole(change: Change) -> None:
    answer = change.ask("provider", fallbacks="nobody")
    assert answer.verdict is ChangeVerdict.REFUSED
    assert "nobody" in answer.problems[0].text


def test_a_secret_is_neither_shown_nor_lost(change: Change) -> None:
    answer = change.ask("channels.telegram", groups="all")
    assert answer.verdict is ChangeVerdict.PLANNED
    assert answer.secrets == ()
    answer = change.ask("channels.telegram", token="654321:another-one-with-letters")
    assert answer.secrets == ("token",)
    assert "another" not in str(answer)
    assert TOKEN not in str(answer)
    change.ask("channels.telegram", groups="all", is_final=True, confirmed="Rosa")
    table = tomllib.loads(change.config.read_text())["channels"]["telegram"]
    assert table == {"token": TOKEN, "groups": "all"}


def test_a_needed_secret_is_not_taken_away(change: Change) -> None:
    answer = change.ask("channels.telegram", dropped=("token",))
    assert answer.verdict is ChangeVerdict.REFUSED
    assert "token is missing" in answer.problems[0].text


def test_what_opens_something_needs_the_devices_name(change: Change) -> None:
    wanted = {"autonomy": "full", "is_final": True}
    for typed in ("", "yes", "rosa"):
        answer = change.ask("agent", confirmed=typed, **wanted)
        assert answer.verdict is ChangeVerdict.CONFIRM
        assert answer.openings == (Opening.LIMITS,)
    assert change.config.read_text() == FILE
    assert change.ask("agent", confirmed=" Rosa ", **wanted).verdict is ChangeVerdict.TAKEN


def test_a_file_that_changed_meanwhile_is_not_written_over(change: Change) -> None:
    seen = hash_of(change.config.read_bytes())
    change.config.write_text(FILE.replace("Rosa", "Lily"))
    answer = change.ask("agent", name="Iris", seen=seen, is_final=True)
    assert answer.verdict is ChangeVerdict.CHANGED_MEANWHILE
    assert "Lily" in change.config.read_text()


def test_what_is_the_same_changes_nothing(change: Change) -> None:
    assert change.ask("agent", name="Rosa").verdict is ChangeVerdict.UNCHANGED
    # A section without values gets no empty table
    assert change.ask("log").verdict is ChangeVerdict.UNCHANGED


def test_a_table_with_a_name_comes_and_goes(change: Change) -> None:
    told = {"tool": "board_*", "where": "pin = pump", "verdict": "ask"}
    assert change.ask("agent.rules.pump", is_final=True, **told).verdict is ChangeVerdict.TAKEN
    table = tomllib.loads(change.config.read_text())
    wanted = {"tool": "board_*", "where": {"pin": "pump"}, "verdict": "ask"}
    assert table["agent"]["rules"]["pump"] == wanted
    answer = change.ask("agent.rules.pump", is_removed=True, is_final=True, confirmed="Rosa")
    assert answer.verdict is ChangeVerdict.TAKEN
    assert "pump" not in change.config.read_text()


def test_a_platform_is_removed(change: Change) -> None:
    answer = change.ask("channels.telegram", is_removed=True, is_final=True)
    assert answer.verdict is ChangeVerdict.TAKEN
    assert TOKEN not in change.config.read_text()
    assert "after grandma" in change.config.read_text()


def test_a_credential_of_the_service_stays_one(tmp_path: Path) -> None:
    credstore = Credstore(tmp_path / "credstore")
    change = Change(tmp_path, credstore)
    credstore.put("telegram_token", TOKEN)
    change.config.write_text("[agent]\nname = 'Rosa'\n[channels.telegram]\n")
    answer = change.ask("channels.telegram", groups="all", is_final=True, confirmed="Rosa")
    assert answer.verdict is ChangeVerdict.TAKEN
    assert credstore.read("telegram_token") == TOKEN
    assert TOKEN not in change.config.read_text()


def test_a_file_with_errors_is_not_changed(change: Change) -> None:
    change.config.write_text("[agent]\nnme = 1\n")
    answer = change.ask("log", level="debug", is_final=True)
    assert answer.verdict is ChangeVerdict.REFUSED
    assert "unknown key" in answer.problems[0].text
    assert change.config.read_text() == "[agent]\nnme = 1\n"


def test_there_is_no_table_of_any_name(change: Change) -> None:
    assert change.ask("nothing", a="b").verdict is ChangeVerdict.REFUSED
