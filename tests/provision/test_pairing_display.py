import json
import socket
from pathlib import Path

import pytest

from agent.access.pairing_codes import Invitation
from agent.access.people import PersonAccount
from agent.access.roles import PersonRole
from agent.app.access import AccessControl
from agent.provision.firmware import Firmware
from agent.provision.pairing_display import LOOK_EVERY_S, SHOWN_S, PairingDisplay, has_owner
from agent.settings import Paths
from agent.system.clock import SystemClock


class Device:
    """A device whose time passes when somebody waits."""

    def __init__(self, root: Path) -> None:
        self.card, self.state, self.screen = root / "card", root / "state", root / "issue.d/x.issue"
        self.agent = root / "agent"
        for folder in (self.card, self.state, self.agent):
            folder.mkdir()
        self.doorway = AccessControl(Paths(None, self.agent), SystemClock())
        self.now_s = 0.0
        self.pairs_at_s = float("inf")
        self.seen: list[tuple[str, str]] = []

    def start(self, *, has_platform: bool = True, unkept: str = "") -> None:
        firmware = Firmware(self.card, is_mounted=False)

        def open_code(known: str) -> str:
            invitation = Invitation(role=PersonRole.OWNER.role)
            return self.doorway.codes.make(invitation, known) if has_platform else ""

        PairingDisplay(
            firmware, self.state, self.agent / "people.json", [self.screen], open_code,
            self.wait, lambda: self.now_s, unkept,
        ).run()  # fmt: skip

    def wait(self, seconds: float) -> None:
        self.now_s += seconds
        self.seen.append((self.note(), self.screen.read_text()))
        if self.now_s >= self.pairs_at_s:
            code = self.note().partition("/pair ")[2].partition("\r")[0]
            invitation = self.doorway.codes.spend(code)
            assert invitation is not None
            self.doorway.people.let_in(
                invitation.rank, PersonAccount(channel="telegram", sender="1", target="1")
            )

    def note(self) -> str:
        path = self.card / "barnacle-pairing.txt"
        return path.read_bytes().decode() if path.exists() else ""


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device(tmp_path)


def test_the_code_is_shown_until_somebody_is_the_owner(
    device: Device, caplog: pytest.LogCaptureFixture
) -> None:
    device.pairs_at_s = 60.0
    device.start()
    note, screen = device.seen[0]
    assert "/pair " in note
    assert f"is called {socket.gethostname()} too" in note
    assert note.replace("\r\n", "\n") == screen.removesuffix("\n")
    assert "/pair " in caplog.text
    assert device.now_s <= 60.0 + LOOK_EVERY_S
    assert device.note() == ""
    assert "/pair" not in device.screen.read_text()
    assert list(device.state.iterdir()) == []


def test_it_is_the_same_code_after_the_next_start(device: Device) -> None:
    device.start()
    assert device.now_s >= SHOWN_S
    note = device.note()
    assert "/pair " in note
    assert "/pair" not in device.screen.read_text()
    device.pairs_at_s = device.now_s + 10
    device.start()
    assert device.seen[-1][0] == note
    assert device.note() == ""


def test_who_has_an_owner_shows_nothing(device: Device) -> None:
    device.doorway.people.let_in(
        PersonRole.OWNER, PersonAccount(channel="telegram", sender="1", target="1")
    )
    (device.card / "barnacle-pairing.txt").write_text("old")
    device.start()
    assert (device.note(), device.seen, device.screen.exists()) == ("", [], False)


def test_without_a_platform_there_is_no_code(device: Device) -> None:
    device.start(has_platform=False)
    assert (device.note(), device.seen, device.screen.exists()) == ("", [], False)


def test_what_is_remembered_must_be_a_code(device: Device) -> None:
    (device.state / "pairing-code").write_text("rm -rf /\n")
    device.pairs_at_s = 1.0
    device.start()
    assert "rm" not in device.seen[0][0]


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"people": []}', b"\xff", b'{"people": {"1": 5}}']
)
def test_a_file_of_people_that_is_none_has_no_owner(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "people.json").write_bytes(content)
    assert not has_owner(tmp_path / "people.json")


def test_no_link_and_no_pipe_is_followed(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_text(json.dumps({"people": {"1": {"role": "owner"}}}))
    assert has_owner(real)
    (tmp_path / "link").symlink_to(real)
    assert not has_owner(tmp_path / "link")
    assert not has_owner(tmp_path / "nothing")


def test_nobody_becomes_the_owner_of_a_start_that_is_forgotten(
    device: Device, caplog: pytest.LogCaptureFixture
) -> None:
    device.start()
    note = device.note()
    asked = len(device.seen)
    device.start(unkept="the data partition is not in use")
    said = "lets nobody become one: the data partition is not in use."
    assert said in device.screen.read_text()
    assert said in caplog.text
    assert "/pair" not in device.screen.read_text()
    assert device.note() == note
    assert len(device.seen) == asked
