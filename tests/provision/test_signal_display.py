"""The code of a Signal link on a screen: as long as it counts, and no longer."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.channels.signal.linking import SCAN_TIMEOUT_S
from agent.provision.signal_display import LOOK_EVERY_S, SignalDisplay
from agent.text.qr_lines import qr_lines
from tests.fakes.signal_daemon import LINK_URI

OTHER_URI = LINK_URI[:-3] + "abc"


class Evening:
    """Time that passes in looks; at each something may happen."""

    def __init__(self, *looks: Callable[[], object]) -> None:
        self.now_s = 0.0
        self._looks: Iterator[Callable[[], object]] = iter(looks)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        next(self._looks, lambda: None)()


def shown(code: Path, evening: Evening) -> list[str]:
    """Return what stood on the screen, one picture after the other."""
    screen = io.BytesIO()
    SignalDisplay(code, screen, evening.sleep, lambda: evening.now_s).run()
    return screen.getvalue().decode().split("\x1b[2J\x1b[H")[1:]


def test_a_code_is_shown_until_it_is_gone(tmp_path: Path) -> None:
    code = tmp_path / "signal-link"
    code.write_text(LINK_URI)
    evening = Evening(lambda: None, code.unlink)
    picture, last = shown(code, evening)
    assert picture.startswith("\r\n".join(qr_lines(LINK_URI)))
    assert "Scan this code with Signal" in picture
    assert (
        last == "The code that was here counts no more: the page Channels says what came of it.\r\n"
    )
    assert evening.now_s == 2 * LOOK_EVERY_S


def test_the_next_code_takes_its_place(tmp_path: Path) -> None:
    code = tmp_path / "signal-link"
    code.write_text(LINK_URI)
    evening = Evening(lambda: code.write_text(OTHER_URI), code.unlink)
    first, second, _ = shown(code, evening)
    assert first.startswith(qr_lines(LINK_URI)[0])
    assert "\r\n".join(qr_lines(OTHER_URI)) in second


def test_a_code_that_nobody_takes_away_ends_with_its_time(tmp_path: Path) -> None:
    code = tmp_path / "signal-link"
    code.write_text(LINK_URI)
    looks = int(SCAN_TIMEOUT_S / LOOK_EVERY_S)
    evening = Evening(*[lambda: None] * (looks + 50), code.unlink)
    _, last = shown(code, evening)
    assert "counts no more" in last


@pytest.mark.parametrize("content", [b"", b"https://example.org", b"sgnl://\x1b[31m", b"\xff"])
def test_what_is_no_code_is_not_shown(tmp_path: Path, content: bytes) -> None:
    code = tmp_path / "signal-link"
    code.write_bytes(content)
    assert shown(code, Evening(code.unlink)) == []


def test_as_long_as_the_file_is_there_nothing_has_to_be_started_anew(tmp_path: Path) -> None:
    """A unit with `PathExists=` starts this at once again, and is given up after five times."""
    code = tmp_path / "signal-link"
    code.touch()
    evening = Evening(*[lambda: None] * 9, lambda: code.write_text(LINK_URI), code.unlink)
    picture, _ = shown(code, evening)
    assert "Scan this code with Signal" in picture
    assert evening.now_s == 11 * LOOK_EVERY_S


def test_nothing_is_shown_where_nothing_is(tmp_path: Path) -> None:
    assert shown(tmp_path / "signal-link", Evening()) == []
