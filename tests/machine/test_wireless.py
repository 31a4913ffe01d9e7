from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.machine.kernel import Kernel
from agent.machine.wireless import Wireless, wireless
from tests.fakes.kernel import a_pi, write

HEADINGS = "Inter-| sta-|   Quality\n face | tus | link level noise\n"


def test_a_pi_hears_its_access_point(tmp_path: Path) -> None:
    assert wireless(Kernel(a_pi(tmp_path))) == [Wireless("wlan0", -56, 77)]


def test_a_machine_without_a_radio_has_none(tmp_path: Path) -> None:
    write(tmp_path, "proc/net/wireless", HEADINGS)
    assert wireless(Kernel(tmp_path)) == []


def test_a_level_in_units_of_its_own_is_none_in_dbm(tmp_path: Path) -> None:
    write(tmp_path, "proc/net/wireless", f"{HEADINGS} wlan1: 0000  100.   80.    0  0 0 0\n")
    assert wireless(Kernel(tmp_path)) == [Wireless("wlan1", None, 100)]


@pytest.mark.parametrize("line", ["wlan0", "wlan0 0 1 2", "wlan0: 0000 x. y."])
def test_lines_of_another_form_are_passed_over(tmp_path: Path, line: str) -> None:
    write(tmp_path, "proc/net/wireless", f"{HEADINGS}{line}\n")
    assert wireless(Kernel(tmp_path)) == []


@given(text=st.text(max_size=80))
def test_no_text_breaks_it(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    root = tmp_path_factory.mktemp("root")
    (root / "proc/net").mkdir(parents=True)
    (root / "proc/net/wireless").write_text(HEADINGS + text, errors="replace")
    wireless(Kernel(root))
