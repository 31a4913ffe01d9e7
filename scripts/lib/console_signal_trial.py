"""Trial of the code that links a Signal account: shown, read from the screen, scanned, run out."""

import importlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from scripts.lib.console_browser import TOOLS, Trial
from scripts.lib.console_parts import whole_console
from tests.fakes.signal_daemon import LINK_URI, NUMBER, SignalDaemon
from tests.fakes.signal_faults import Fails, Waits
from tests.fakes.signal_thread import SignalThread

# Reads codes as a telephone's camera does
_READER = "zxing-cpp==3.1.1"
_SECRET = LINK_URI.partition("pub_key=")[2]
_WIDTHS = (360, 1280)


def signal_link(trial: Trial) -> None:
    """Link an account by the code on the page; let one run out; see a fault and its fix."""
    scanned, ends = Waits(), Waits(Fails(-1, "Link request timed out, please try again."))
    daemon = SignalDaemon(accounts=[])
    daemon.fail("finishLink", ends, scanned, Fails(-3, "Link request error: no route to host"))
    with SignalThread(daemon) as signal, tempfile.TemporaryDirectory() as folder:
        more = f'\n[channels.signal]\nbase_url = "{signal.daemon.url}"\n'
        with whole_console(Path(folder), more=more) as whole:
            own = Trial(whole, trial.playwright, trial.browser, trial.axe, trial.shots)
            page = own.entered(reduced_motion="reduce")
            page.goto(f"{whole.base}/channels")
            _look(own, page, "offered")
            _press(page)
            page.wait_for_selector("svg.qr")
            _look(own, page, "shown", has_code=True)
            _scriptless(own)
            _to_nobody_else(own)
            signal.call(ends.over.set)
            page.wait_for_selector("#signal-link button")
            assert page.query_selector("svg.qr") is None
            _look(own, page, "ran-out")
            _press(page)
            page.wait_for_selector("svg.qr")
            signal.call(scanned.over.set)
            page.wait_for_selector(f"#signal-link :text('{NUMBER}')")
            _look(own, page, "linked")
            _press(page)
            page.wait_for_selector("#signal-link .bad:text('no route to host')")
            _look(own, page, "failed")
            assert own.faults == [], own.faults
        _kept_nowhere(Path(folder))


def _press(page: Any) -> None:
    page.click("form[action='/channels/signal'] button")


def _look(trial: Trial, page: Any, name: str, *, has_code: bool = False) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for width in _WIDTHS:
            page.set_viewport_size({"width": width, "height": 760})
            shot = _shot(trial, page, f"signal-{name}-{width}-{scheme}")
            assert not page.evaluate("document.documentElement.scrollWidth > innerWidth"), shot
            assert _read(shot) == ([LINK_URI] if has_code else []), shot
        assert trial.violations(page) == []
    page.set_viewport_size({"width": 360, "height": 760})


def _shot(trial: Trial, page: Any, name: str) -> Path:
    """Return a picture of the screen where the form leads to."""
    page.goto(f"{page.url.partition('#')[0]}#signal")
    # What sticks to the edges is drawn after the page has come to rest
    page.wait_for_timeout(300)
    path = trial.shots / f"{name}.png"
    page.screenshot(path=path)
    return path


def _read(picture: Path) -> list[str]:
    """Return the texts of the codes in a picture."""
    site = TOOLS / _READER
    if not site.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(site)]
        subprocess.run([*pip, "--no-deps", _READER], check=True)
    if str(site) not in sys.path:
        sys.path.append(str(site))
    image = importlib.import_module("PIL.Image")
    with image.open(picture) as opened:
        return [one.text for one in importlib.import_module("zxingcpp").read_barcodes(opened)]


def _scriptless(trial: Trial) -> None:
    """See the code without scripts, and a way to look again."""
    page = trial.entered(java_script_enabled=False)
    page.goto(f"{trial.whole.base}/channels")
    assert _read(_shot(trial, page, "signal-scriptless-360")) == [LINK_URI]
    assert page.is_visible("#signal-link a[href='/channels#signal']")


def _to_nobody_else(trial: Trial) -> None:
    for role in ("user", "guest"):
        page = trial.entered(role)
        page.goto(f"{trial.whole.base}/channels")
        assert page.query_selector("svg.qr") is None
        page.goto(f"{trial.whole.base}/more")
        assert page.query_selector("a[href='/channels']") is None


def _kept_nowhere(folder: Path) -> None:
    """Look for the code in every file of the agent: log, audit, databases."""
    found = [
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and _SECRET.encode() in path.read_bytes()
    ]
    assert found == [], found
