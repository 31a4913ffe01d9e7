"""The power fails at every single step of a first start, in the middle of a write too."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.provision.wifi import NAME as CONNECTION
from tests.provision.conftest import Machine
from tests.provision.test_boot import KEY, TOKEN, WHOLE, WIFI

IMAGER = "network:\n  wifis:\n    wlan0:\n      regulatory-domain: FR\n"
# Far more than a start takes
MOST_STEPS = 400
STEPS = ("pwrite", "fsync", "replace", "unlink", "symlink", "chmod", "mkdir")


class PowerCut(BaseException):
    """Nothing comes after it."""


class FailingPower:
    """Lets so many steps be done; of a write that comes next, the first half."""

    def __init__(self, steps: int) -> None:
        self.left = steps
        self._patch = pytest.MonkeyPatch()

    def __enter__(self) -> None:
        for name in STEPS:
            self._patch.setattr(os, name, self._counted(getattr(os, name)))

    def __exit__(self, kind: type[BaseException] | None, *_more: object) -> bool:
        self._patch.undo()
        return kind is PowerCut

    def _counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*words: Any, **named: Any) -> Any:
            if not self.left:
                if real.__name__ == "pwrite":
                    handle, content, at = words
                    real(handle, content[: len(content) // 2], at)
                raise PowerCut
            self.left -= 1
            return real(*words, **named)

        return step


def _machine(root: Path) -> Machine:
    root.mkdir()
    machine = Machine(root)
    machine.write(WHOLE)
    machine.write(IMAGER, "network-config")
    return machine


def _told(machine: Machine, root: Path) -> dict[str, bytes]:
    return {path.removeprefix(str(root)): content for path, content in machine.kept().items()}


def test_wherever_the_power_fails_the_next_start_comes_to_the_same_end(tmp_path: Path) -> None:
    whole = _machine(tmp_path / "whole")
    assert whole.start()
    end = _told(whole, tmp_path / "whole")
    for steps in range(MOST_STEPS):
        root = tmp_path / str(steps)
        machine = _machine(root)
        power = FailingPower(steps)
        with power:
            machine.start()
        was_cut = not power.left
        assert machine.start(), (steps, machine.errors())
        told = _told(machine, root)
        told.pop("/etc/barnacle.toml.before", None)
        assert told == end, steps
        assert machine.read() == whole.read(), steps
        assert not [one for one in (KEY, TOKEN, WIFI) if one in machine.read()]
        assert [path.name for path in machine.card.iterdir()] == ["barnacle.toml"], steps
        assert {KEY, TOKEN, WIFI} <= {one for swept in machine.swept for one in swept}
        if not was_cut:
            return
    pytest.fail(f"a start takes more than {MOST_STEPS} steps")


def _cut(_secrets: tuple[str, ...]) -> None:
    raise PowerCut


def test_a_secret_that_is_written_after_a_cut_is_taken_over(tmp_path: Path) -> None:
    machine = _machine(tmp_path / "card")
    with pytest.raises(PowerCut):
        machine.start(_cut)
    # A slip of one letter is mended by a word as long
    mended = f"{WIFI[:-1]}!"
    machine.write(machine.read().replace("*" * len(WIFI), mended, 1))
    assert machine.start()
    assert f"psk={mended}" in (machine.connections / CONNECTION).read_text()
    assert mended not in machine.read()


def test_files_that_imager_leaves_after_a_cut_are_taken_over(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.write("hostname: first\n", "user-data")
    with pytest.raises(PowerCut):
        machine.start(_cut)
    machine.write("hostname: second\n", "user-data")
    assert machine.start()
    assert (machine.device / "hostname").read_text() == "second\n"


def test_the_card_is_searched_after_a_cut_though_nothing_on_it_is_new(tmp_path: Path) -> None:
    machine = _machine(tmp_path / "card")
    assert machine.start()
    machine.write(IMAGER, "network-config")
    with pytest.raises(PowerCut):
        machine.start(_cut)
    machine.swept.clear()
    assert machine.start()
    assert len(machine.swept) == 1
    assert machine.start()
    assert len(machine.swept) == 1
