"""Trial of the console in Debian's Firefox, which is no Chromium."""

import shutil
from dataclasses import replace

from scripts.lib.console_browser import Trial, Unavailable

# Playwright puts `body {}` into a page before a screenshot, and our policy lets no such style in
_SCREENSHOT = "sha256-YjaKGiklmzC6wjXA513HAMmzus8VE61XCOT+SmwNZWA="


def firefox(trial: Trial) -> None:
    """Come in, look around, talk, stop everything, lose the console, in Firefox."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        raise Unavailable("no Firefox is installed (Debian's package firefox-esr)")
    # By WebDriver BiDi, as any Firefox understands it
    kind = trial.playwright.firefox
    browser = kind.launch(channel="moz-firefox", executable_path=program)
    try:
        _look_around(replace(trial, browser=browser))
    finally:
        browser.close()


def _look_around(trial: Trial) -> None:
    page = trial.entered()
    page.wait_for_selector("#home .headline")
    page.screenshot(path=trial.shots / "firefox-home-360.png")
    page.click("nav.pages a[href='/board']")
    trial.whole.sim.set(button=1)
    page.wait_for_selector(".pin:has(h3:text('button')) .value.on")
    trial.whole.sim.set(button=0)
    page.wait_for_selector(".pin:has(h3:text('button')) .value.off")
    page.click("nav.pages a[href='/chat']")
    page.fill("#text", "turn the led on")
    page.keyboard.press("Enter")
    page.wait_for_selector(".bubble:not(.mine):not(.told):not(.growing)")
    assert "led" in page.inner_text("#talk")
    page.click(".estop button")
    page.wait_for_selector("#state .alarm")
    page.screenshot(path=trial.shots / "firefox-stopped-360.png")
    page.click("#state button")
    page.wait_for_selector("#state .alarm", state="detached")
    trial.whole.kill_console()
    page.wait_for_selector("#link .warning")
    trial.whole.start_console()
    page.wait_for_selector("#link .warning", state="detached")
    trial.faults[:] = [fault for fault in trial.faults if _SCREENSHOT not in fault]
