from pathlib import Path

import pytest

from agent.backup import switching
from agent.backup.aftermath import read_note
from agent.backup.restore import RestoreTarget
from agent.provision.boot import Provisioning
from agent.provision.card_restore import CardRestore
from agent.provision.firmware import Firmware
from agent.provision.restoration import MachineRestore, outside_folders
from tests.fakes.backed_up import SECRET, BackedUpDevice
from tests.provision.conftest import Machine

NAME = "greenhouse.barnacle-backup"
OPENS = f'[restore]\nkey = "{SECRET}"\n'


class CardOfBackup:
    """A fresh card; a backup of another device may be put on it."""

    def __init__(self, machine: Machine, root: Path) -> None:
        self.machine = machine
        self.state = root / "data"
        self.state.mkdir()
        (root / "old").mkdir()
        self.device = BackedUpDevice(root / "old")
        self.device.fill(1_800_000_000.0)
        self.device.credentials["telegram_token"] = "123:abc"

    def put(self, text: str = OPENS, name: str = NAME) -> None:
        self.device.backup(self.machine.card / name)
        self.machine.write(text)

    def target(self) -> RestoreTarget:
        places = self.machine.places()
        system = MachineRestore(places, is_services=True).system()
        return RestoreTarget(
            self.state, places.config, system, lambda config: outside_folders(config, self.state)
        )

    def start(self) -> bool:
        card = self.machine.card
        restore = CardRestore(card, self.state, self.target).run
        firmware = Firmware(card, is_mounted=False)
        kept = self.machine.device
        return Provisioning(
            firmware,
            kept,
            self.machine.places,
            self.machine.swept.append,
            restore,
            lambda: self.machine.unused,
        ).run()

    def epoch(self) -> int:
        note = read_note(self.state)
        return 0 if note is None else note.epoch


@pytest.fixture
def card(machine: Machine, tmp_path: Path) -> CardOfBackup:
    return CardOfBackup(machine, tmp_path)


def test_a_backup_on_the_card_is_restored_at_the_first_start(card: CardOfBackup) -> None:
    card.put()
    assert card.start(), card.machine.errors()
    assert (card.state / "workspace" / "IDENTITY.md").read_text() == "I am a greenhouse."
    assert 'name = "Greenhouse"' in card.machine.config.read_text()
    store = card.machine.places().credstore
    assert store is not None
    assert store.read("telegram_token") == "123:abc"
    note = read_note(card.state)
    assert note is not None
    # Nobody has set the clock yet: the agent settles the jobs when it is set
    assert note.restored_at_s == 0
    assert not any(line.startswith("job") for line in note.closed)


def test_what_a_mac_writes_beside_it_is_no_backup(card: CardOfBackup) -> None:
    card.put()
    # AppleDouble: extended attributes, where FAT has none; the Finder does not show it
    card.machine.write(b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        ", f"._{NAME}")
    assert card.start(), card.machine.errors()
    assert card.epoch() == 1


def test_it_is_done_once(card: CardOfBackup) -> None:
    card.put()
    for _ in range(3):
        assert card.start()
        (card.state / "workspace" / "since.md").write_text("kept")
    assert card.epoch() == 1
    assert (card.state / "workspace" / "since.md").exists()


def test_a_change_of_the_settings_restores_nothing_again(card: CardOfBackup) -> None:
    card.put()
    card.start()
    card.machine.write(card.machine.read() + '\n[agent]\nname = "Other"\n')
    assert card.start(), card.machine.errors()
    assert card.epoch() == 1
    assert 'name = "Other"' in card.machine.config.read_text()


def test_another_backup_is_restored(card: CardOfBackup) -> None:
    card.put()
    card.start()
    (card.machine.card / NAME).unlink()
    card.put(name="later.barnacle-backup")
    assert card.start(), card.machine.errors()
    assert card.epoch() == 2


def test_what_opens_it_does_not_stay_on_the_card(card: CardOfBackup) -> None:
    card.put()
    card.start()
    assert SECRET not in card.machine.read()
    assert "*" * len(SECRET) in card.machine.read()
    assert (SECRET,) in card.machine.swept


def test_what_the_file_says_besides_replaces_what_the_backup_says(card: CardOfBackup) -> None:
    card.put(f'{OPENS}[agent]\nname = "Balcony"\n[wifi]\nssid = "new net"\npassword = "12345678"\n')
    assert card.start(), card.machine.errors()
    assert 'name = "Balcony"' in card.machine.config.read_text()
    assert (card.machine.connections / "barnacle-wifi.nmconnection").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", 'write [restore] and a line passphrase = "..."'),
        ('[restore]\npassphrase = "four other words"\n', "give the file of the secret key"),
        ('[restore]\nkey = "AGE-SECRET-KEY-1{chance}AAAA"\n', "the secret key cannot be read"),
        ('[restore]\nkey = "****"\n', "nothing opens it"),
    ],
)
def test_a_mistake_is_written_beside_it_and_changes_nothing(
    card: CardOfBackup, text: str, says: str
) -> None:
    # Made by chance, which no name of a case may be
    card.put(text.replace("AGE-SECRET-KEY-1{chance}", SECRET[:-4]))
    assert not card.start()
    assert says in card.machine.errors()
    assert not (card.state / "workspace").exists()
    card.put()
    assert card.start()
    assert card.machine.errors() == ""


def test_two_backups_are_one_too_many(card: CardOfBackup) -> None:
    card.put()
    card.put(name="b.barnacle-backup")
    assert not card.start()
    assert "several backups are on the card" in card.machine.errors()


def test_a_damaged_one_is_said_and_changes_nothing(card: CardOfBackup) -> None:
    card.put()
    path = card.machine.card / NAME
    path.write_bytes(path.read_bytes()[:-50])
    assert not card.start()
    assert "ends too early or was changed" in card.machine.errors()
    assert not (card.state / "workspace").exists()


def test_a_restore_that_was_cut_off_goes_on_and_is_not_done_again(
    card: CardOfBackup, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(*_given: object) -> None:
        raise OSError(5, "the power failed")

    card.put()
    with monkeypatch.context() as patch:
        patch.setattr(switching, "_switch", cut)
        assert not card.start()
    assert switching.pending(card.state) is not None
    assert card.start(), card.machine.errors()
    assert card.epoch() == 1
    assert (card.state / "workspace" / "IDENTITY.md").exists()


def test_nothing_is_restored_or_asked_for_in_a_start_that_keeps_nothing(
    card: CardOfBackup, tmp_path: Path
) -> None:
    card.put()
    assert card.start()
    (card.state / switching.MARK).rename(tmp_path / "mark")
    card.machine.unused = "3 starts ended early"
    assert card.start()
    assert card.machine.errors() == ""
