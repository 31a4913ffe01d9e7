"""Trials of the console's settings: a mistake, a change that is taken, two browsers, a kill."""

import contextlib
import sqlite3
import time
import tomllib
from pathlib import Path
from typing import Any

from scripts.lib.console_browser import PATIENCE_MS, Trial

_COMMENT = "# What the pages show needs no vectors"
# Typed into forms
_TIMEOUT_S, _DAYS = "120", "40"


def settings(trial: Trial) -> None:
    """Make a mistake, correct it, see the change, write it: the comments stay."""
    page, config = trial.entered(), _config(trial)
    _open(trial, page, "agent")
    page.fill("#f-turn_timeout_s", "soon")
    page.click("main form button")
    page.wait_for_selector("#f-turn_timeout_s[aria-invalid]")
    assert "must be a whole number" in page.inner_text("#f-turn_timeout_s-wrong")
    assert page.input_value("#f-turn_timeout_s") == "soon"
    _look(trial, page, "settings-wrong")
    page.fill("#f-turn_timeout_s", _TIMEOUT_S)
    page.click("main form button")
    page.wait_for_selector(".diff .added")
    assert page.inner_text(".diff .added").strip() == f"+turn_timeout_s = {_TIMEOUT_S}"
    _look(trial, page, "settings-change")
    assert "turn_timeout_s" not in config.read_text()
    page.click("form[action='/settings/take'] button")
    page.wait_for_selector("[role=status] .good")
    assert tomllib.loads(config.read_text())["agent"]["turn_timeout_s"] == int(_TIMEOUT_S)
    assert _COMMENT in config.read_text()
    # The agent has taken it up, and tells its owner wherever they are
    ends_s = time.monotonic() + PATIENCE_MS / 1000
    while not _is_told(trial, "agent.turn_timeout_s"):
        assert time.monotonic() < ends_s, "nobody was told of the change"
        page.wait_for_timeout(500)


def opening(trial: Trial) -> None:
    """Open something: the device's name has to be typed, and no page shows the secret."""
    page, config = trial.entered(), _config(trial)
    _open(trial, page, "gateway")
    page.fill("#f-listen", "127.0.0.1:0")
    page.fill("#f-token", "a-secret-of-32-characters-or-more")
    page.click("main form button")
    page.wait_for_selector("#confirmed")
    assert "a-secret-of" not in page.content()
    page.click("form[action='/settings/take'] button")
    page.wait_for_selector("#wrong")
    _look(trial, page, "settings-opens")
    assert "gateway" not in config.read_text()
    page.fill("#confirmed", "Greenhouse")
    page.click("form[action='/settings/take'] button")
    page.wait_for_selector("[role=status] .good")
    assert "a-secret-of" not in page.content()
    assert tomllib.loads(config.read_text())["gateway"]["listen"] == "127.0.0.1:0"
    page.check("[name=is_removed]")
    page.click("main form button")
    page.click("form[action='/settings/take'] button")
    page.wait_for_selector("[role=status] .good")
    assert "gateway" not in config.read_text()


def meanwhile(trial: Trial) -> None:
    """Edit the same section in two browsers: the second is told, and nothing typed is lost."""
    first, second = trial.entered(), trial.entered()
    for page, name in ((first, "readings"), (second, "readings")):
        _open(trial, page, name)
    first.fill("#f-days", "50")
    second.fill("#f-days", _DAYS)
    for page in (first, second):
        page.click("main form button")
        page.wait_for_selector(".diff" if page is first else ".diff, [role=alert]")
    first.click("form[action='/settings/take'] button")
    first.wait_for_selector("[role=status] .good")
    second.click("form[action='/settings/take'] button")
    second.wait_for_selector(".warning[role=alert]")
    assert second.input_value("#f-days") == _DAYS
    assert "50" in second.inner_text(".setting:has(#f-days) .bad")
    _look(trial, second, "settings-meanwhile")
    second.click("main form button")
    second.wait_for_selector(".diff .added")
    second.click("form[action='/settings/take'] button")
    second.wait_for_selector("[role=status] .good")
    assert tomllib.loads(_config(trial).read_text())["readings"]["days"] == int(_DAYS)


def killed(trial: Trial) -> None:
    """Kill the agent while a change is taken: the file is the old or the new one, and it starts."""
    page, config = trial.entered(), _config(trial)
    for number in range(3):
        _open(trial, page, "log")
        page.select_option("#f-level", ("debug", "warning", "info")[number])
        page.click("main form button")
        page.wait_for_selector(".diff .added")
        before = config.read_bytes()
        page.evaluate("document.querySelector(\"form[action='/settings/take'] button\").click()")
        page.wait_for_timeout(400 * number)
        trial.whole.daemon.kill()
        level = tomllib.loads(config.read_text()).get("log", {}).get("level")
        new = ("debug", "warning", "info")[number]
        assert level == new or config.read_bytes() == before
        trial.whole.daemon.start()
        page.goto(f"{trial.whole.base}/")
        page.wait_for_selector("nav.pages")


def _open(trial: Trial, page: Any, section: str) -> None:
    page.goto(f"{trial.whole.base}/settings?section={section}")


def _is_told(trial: Trial, word: str) -> bool:
    place = f"file:{trial.whole.folder / 'state' / 'agent.db'}?mode=ro"
    with contextlib.closing(sqlite3.connect(place, uri=True)) as db:
        found = db.execute("SELECT count(*) FROM outbox WHERE instr(text, ?)", (word,)).fetchone()
    return bool(found[0])


def _config(trial: Trial) -> Path:
    return trial.whole.folder / "barnacle.toml"


def _look(trial: Trial, page: Any, name: str) -> None:
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=trial.shots / f"{name}-{width}.png", full_page=True)
    page.set_viewport_size({"width": 360, "height": 760})
    assert trial.violations(page) == []
