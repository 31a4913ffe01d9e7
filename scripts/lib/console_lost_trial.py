"""Trials of a page that loses its board, its agent, its console or its access."""

import signal

from agent.access.people import BROWSERS, PeopleStore
from agent.console.guards import SESSION_COOKIE
from agent.system.clock import SystemClock
from scripts.lib.console_browser import Trial


def comings(trial: Trial) -> None:
    """Pull the board out, kill the agent: the page says so, and goes on when they are back."""
    page = trial.entered()
    page.goto(f"{trial.whole.base}/board")
    trial.whole.sim.kill()
    page.wait_for_selector(".boardline:not(:has-text('ready'))")
    page.screenshot(path=trial.shots / "unplugged-360.png")
    trial.whole.sim.start()
    page.wait_for_selector(".boardline:has-text('ready')")
    trial.whole.daemon.kill()
    page.wait_for_selector("#link .warning")
    page.screenshot(path=trial.shots / "gone-360.png")
    trial.whole.daemon.start()
    page.wait_for_selector("#link .warning", state="detached")
    page.wait_for_selector(".boardline:has-text('ready')")


def lost(trial: Trial) -> None:
    """End the console, then hold it up: the page says that it is lost, and misses nothing."""
    page = trial.entered()
    page.goto(f"{trial.whole.base}/chat")
    trial.whole.kill_console()
    page.wait_for_selector("#link .warning")
    page.screenshot(path=trial.shots / "lost-360.png")
    assert trial.violations(page) == []
    assert trial.faults == [], trial.faults
    page.click(".estop button")
    # Who pressed it must know that nothing came of it
    page.wait_for_selector("#toast:has-text('did not reach')")
    page.screenshot(path=trial.shots / "unsent-360.png")
    # The library notes each request of a person that fails, and nothing else does
    assert all(one.startswith("htmx:") for one in trial.faults), trial.faults
    trial.faults.clear()
    trial.whole.start_console()
    page.wait_for_selector("#link .warning", state="detached")
    page.wait_for_selector("#state .alarm", state="detached")
    # Nothing ends a connection to a device without power
    assert trial.whole.console is not None
    trial.whole.console.send_signal(signal.SIGSTOP)
    page.wait_for_selector("#link .warning")
    trial.whole.console.send_signal(signal.SIGCONT)
    page.wait_for_selector("#link .warning", state="detached")
    page.fill("#text", "turn the led on")
    page.keyboard.press("Enter")
    page.wait_for_selector(".bubble:not(.mine):not(.told):not(.growing)")


def revoked(trial: Trial) -> None:
    """Take a browser's access away while its page is open: it is at the door."""
    page = trial.entered("user")
    people = PeopleStore(trial.whole.folder / "state" / "people.json", SystemClock())
    browsers = [one for one in people.everyone() if one.role == "user"]
    for person in browsers:
        for account in person.accounts:
            people.forget_account(BROWSERS, account.sender)
    page.wait_for_selector("#code")
    page.goto(f"{trial.whole.base}/board")
    assert page.query_selector(".pins") is None
    assert SESSION_COOKIE not in page.evaluate("document.cookie")
