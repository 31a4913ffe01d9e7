"""The console in a real browser, on the whole agent with the simulated board.

Playwright drives Debian's Chromium; axe-core looks at every page, light and dark.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from agent.approvals.button import LONG_S
from scripts.lib.console_browser import PATIENCE_MS, TOOLS, Trial, Unavailable, failures, opened
from scripts.lib.console_firefox_trial import firefox
from scripts.lib.console_first_trial import files, first_start
from scripts.lib.console_lost_trial import comings, lost, revoked
from scripts.lib.console_parts import environ, whole_console
from scripts.lib.console_readings_trial import readings
from scripts.lib.console_settings_trial import killed, meanwhile, opening, settings
from scripts.lib.console_signal_trial import signal_link
from scripts.lib.setup import ROOT

_WIDTHS = (360, 768, 1280)
PAGES = (
    *("", "chat", "board", "readings", "more", "jobs", "memory", "audit", "people"),
    *("models", "channels", "log", "settings", "settings?section=agent"),
    *("settings?section=board", "settings?section=channels.telegram", "upkeep"),
)


def door(trial: Trial) -> None:
    """Let a browser in from a chat; its page opens by itself."""
    page = trial.page(trial.browser.new_context(viewport={"width": 360, "height": 760}))
    page.goto(f"{trial.whole.base}/")
    page.screenshot(path=trial.shots / "door-360.png")
    assert trial.violations(page) == []
    sentence = page.inner_text(".knock code")
    subprocess.run(
        [sys.executable, "-m", "agent.cli.main", "chat", "--plain"],
        cwd=ROOT,
        env=environ(trial.whole.folder),
        input=f"{sentence}\n",
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE_MS / 1000,
    )
    page.wait_for_selector("nav.pages")


def button(trial: Trial) -> None:
    """Let a browser in by the button of the board; its page opens by itself."""
    page = trial.page(trial.browser.new_context(viewport={"width": 360, "height": 760}))
    page.goto(f"{trial.whole.base}/")
    # The door offers it as soon as the board is there
    while (offered := page.query_selector("form[action='/door/press'] button")) is None:
        page.wait_for_timeout(1000)
        page.reload()
    offered.click()
    page.wait_for_selector(".headline[role=status]")
    page.screenshot(path=trial.shots / "press-360.png")
    assert trial.violations(page) == []
    trial.whole.sim.set(button=1)
    page.wait_for_timeout((LONG_S + 0.5) * 1000)
    trial.whole.sim.set(button=0)
    page.wait_for_selector("nav.pages")


def conversation(trial: Trial) -> None:
    """Say something and read the answer; a second browser has a conversation of its own."""
    page, other = trial.entered(), trial.entered("user")
    page.goto(f"{trial.whole.base}/chat")
    page.fill("#text", "turn the led on")
    page.keyboard.press("Enter")
    page.wait_for_selector(".bubble:not(.mine):not(.told):not(.growing)")
    assert "led" in page.inner_text("#talk")
    assert page.input_value("#text") == ""
    other.goto(f"{trial.whole.base}/chat")
    assert other.query_selector(".bubble") is None


def board(trial: Trial) -> None:
    """Switch an output on the board's page, be asked about a hazard, stop everything."""
    page = trial.entered()
    page.goto(f"{trial.whole.base}/board")
    page.click("button[aria-label^='led']:has-text('Switch on')")
    page.wait_for_selector(".pin:has(h3:text('led')) .value.on")
    page.click("button[aria-label^='valve']:has-text('Switch on')")
    page.wait_for_selector(".question")
    assert "valve" in page.inner_text(".question .call")
    page.screenshot(path=trial.shots / "question-360.png")
    assert trial.violations(page) == []
    page.click(".question button[value=no]")
    page.wait_for_selector(".question", state="detached")
    page.click(".estop button")
    page.wait_for_selector("#state .alarm")
    page.wait_for_selector(".pin:has(h3:text('led')) .value.off")
    page.screenshot(path=trial.shots / "stopped-360.png")
    assert trial.violations(page) == []
    page.click("#state button")
    page.wait_for_selector("#state .alarm", state="detached")


def looks(trial: Trial) -> None:
    """Look at every page in three widths, light and dark; axe-core has no grave finding."""
    grave = []
    for scheme in ("light", "dark"):
        page = trial.entered(color_scheme=scheme, reduced_motion="reduce")
        for name in PAGES:
            for width in _WIDTHS:
                page.set_viewport_size({"width": width, "height": 800})
                page.goto(f"{trial.whole.base}/{name}")
                page.wait_for_timeout(300)
                shot = f"{name.replace('?section=', '-') or 'home'}-{width}-{scheme}.png"
                page.screenshot(path=trial.shots / shot)
                wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
                grave += [f"{shot}: wider than the screen"] if wide else []
                grave += [] if _can_stop(page) else [f"{shot}: something covers STOP"]
            grave += trial.violations(page)
    assert grave == [], "\n".join(grave)


def _can_stop(page: Any) -> bool:
    """Return true if STOP is what a finger meets there, wherever the page was scrolled to."""
    return bool(
        page.evaluate(
            """[0, 50, 100, 1e6].every(top => {
                scrollTo(0, top);
                const place = document.querySelector(".estop button").getBoundingClientRect();
                const met = document.elementFromPoint(
                    place.x + place.width / 2, place.y + place.height / 2);
                return met !== null && met.closest(".estop") !== null;
            })"""
        )
    )


def scriptless(trial: Trial) -> None:
    """Read every page without scripts."""
    page = trial.entered(java_script_enabled=False)
    for name in PAGES:
        assert page.goto(f"{trial.whole.base}/{name}").ok
        assert page.inner_text("main").strip()


CASES: tuple[Callable[[Trial], None], ...] = (
    *(door, button, first_start, conversation, files, board, readings, looks, scriptless),
    *(revoked, comings, lost, firefox),
    *(settings, opening, meanwhile, killed, signal_link),
)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/test-console", description=__doc__)
    parser.add_argument("--shots", type=Path, default=TOOLS / "shots", help="folder of screenshots")
    parser.add_argument("cases", nargs="*", help=", ".join(case.__name__ for case in CASES))
    wanted = parser.parse_args(words)
    wanted.shots.mkdir(parents=True, exist_ok=True)
    chosen = [case for case in CASES if not wanted.cases or case.__name__ in wanted.cases]
    with tempfile.TemporaryDirectory(prefix="barnacle-console-") as folder:
        failed = list(_run(Path(folder), wanted.shots, chosen))
    for line in failed:
        print(f"test-console: {line}", file=sys.stderr)
    print(f"test-console: {len(chosen) - len(failed)} of {len(chosen)} cases passed")
    return 1 if failed else 0


def _run(folder: Path, shots: Path, chosen: Sequence[Callable[[Trial], None]]) -> Iterator[str]:
    with whole_console(folder) as whole, opened() as it:
        for case in chosen:
            trial = Trial(whole, it.playwright, it.browser, it.axe, shots)
            try:
                case(trial)
                assert trial.faults == [], trial.faults
            except Unavailable as err:
                print(f"test-console: {case.__name__}: skipped: {err}", flush=True)
            except failures() as err:
                yield f"{case.__name__}: {err}"
            else:
                print(f"test-console: {case.__name__}: passed", flush=True)
