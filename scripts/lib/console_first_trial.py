"""Trials of the first start in a browser, and of files in its chat."""

from http.client import NOT_FOUND
from pathlib import Path

from scripts.lib.console_browser import Trial

_NOTE = "only mine"


def first_start(trial: Trial) -> None:
    """Answer the questions of a device without settings, with a mistake; say the first sentence."""
    page = trial.entered()
    page.goto(f"{trial.whole.base}/")
    page.click("a[href='/setup']")
    assert trial.violations(page) == []
    page.click("main form button")
    for answer, after in (
        ("nonsense", ".step.bad"),
        ("offline", "label:has-text('platforms')"),
        ("none", ".now button[value=y]"),
    ):
        page.fill("#answer", answer)
        page.click(".now button")
        page.wait_for_selector(after)
        page.screenshot(path=trial.shots / f"first-start-{answer}-360.png", full_page=True)
        assert trial.violations(page) == []
    page.click(".now button[value=y]")
    page.wait_for_selector(".pinstate .value")
    page.click("main section form button")
    page.wait_for_selector(".pinstate .value.on")
    page.screenshot(path=trial.shots / "first-sentence-360.png", full_page=True)
    assert trial.violations(page) == []


def files(trial: Trial) -> None:
    """Send a picture and a file with a message; they are shown, downloaded, and nobody else's."""
    page, other = trial.entered(), trial.entered("user")
    page.goto(f"{trial.whole.base}/chat")
    note = trial.whole.folder / "a note.txt"
    note.write_text(_NOTE)
    page.screenshot(path=trial.shots / "picture.png")
    page.set_input_files("[data-uploads]", [trial.shots / "picture.png", note])
    page.wait_for_selector(".chosen li:nth-child(2)")
    page.wait_for_selector(".say > button:not([disabled])")
    assert trial.violations(page) == []
    page.fill("#text", "look at this")
    page.keyboard.press("Enter")
    page.wait_for_selector(".mine .files img")
    picture = page.query_selector(".mine .files img")
    page.wait_for_timeout(1000)
    assert picture.evaluate("one => one.naturalWidth") > 0
    page.screenshot(path=trial.shots / "files-360.png")
    assert trial.violations(page) == []
    with page.expect_download() as coming:
        page.click("a[download]")
    assert Path(coming.value.path()).read_text() == _NOTE
    assert other.goto(f"{trial.whole.base}{picture.get_attribute('src')}").status == NOT_FOUND
