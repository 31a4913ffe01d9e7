"""A browser for trials of the console: let in by a code, and looked at by axe-core."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts.lib.console_parts import WholeConsole
from scripts.lib.setup import ROOT

TOOLS = ROOT / ".barnacle" / "console-trial"
CHROMIUM = "/usr/bin/chromium"
# A busy machine loads a model for the first sentence
PATIENCE_MS = 60_000
_TRIES, _CODE_PAUSE_MS = 4, 11_000
# A later Playwright tells Firefox what Debian's does not know yet
_PLAYWRIGHT, _AXE = "playwright==1.62.0", "axe-core@4.14.1"
_GRAVE = frozenset({"serious", "critical"})


class Unavailable(Exception):
    """A case that cannot run here, and why."""


@dataclass
class Trial:
    """One browser and what was found with it.

    Args:
        playwright: opens another kind of browser.
    """

    whole: WholeConsole
    playwright: Any
    browser: Any
    axe: str
    shots: Path
    # Console messages of pages that should have none
    faults: list[str] = field(default_factory=list)

    def page(self, context: Any) -> Any:
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", self._note)
        page.on("pageerror", lambda err: self.faults.append(str(err)))
        return page

    def _note(self, message: Any) -> None:
        # A browser reports each answer that is no success, such as the door's own 401
        if message.type in {"error", "warning"} and "Failed to load resource" not in message.text:
            self.faults.append(message.text)

    def entered(self, role: str = "owner", width: int = 360, **options: Any) -> Any:
        """Return a page of a browser that was let in by a code."""
        size = {"width": width, "height": 760}
        page = self.page(self.browser.new_context(viewport=size, **options))
        code = self.whole.code(role)
        for _ in range(_TRIES):
            page.goto(f"{self.whole.base}/")
            page.fill("#code", code)
            page.click("form button")
            if page.query_selector("nav.pages"):
                break
            # One address may try a few codes a minute
            page.wait_for_timeout(_CODE_PAUSE_MS)
        page.wait_for_selector("nav.pages")
        return page

    def violations(self, page: Any) -> list[str]:
        """Return what axe-core finds that is grave."""
        found = page.evaluate(f"{self.axe}; axe.run(document, {{resultTypes: ['violations']}})")
        return [
            f"{page.url} {one['id']}: {one['nodes'][0]['html'][:100]}"
            for one in found["violations"]
            if one["impact"] in _GRAVE
        ]


@dataclass(frozen=True)
class Opened:
    """Chromium, Playwright that has opened it, and the text of axe-core."""

    playwright: Any
    browser: Any
    axe: str


@contextmanager
def opened() -> Iterator[Opened]:
    """Open Chromium with tools that are installed beside the checkout once."""
    site = TOOLS / _PLAYWRIGHT
    if not site.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(site)]
        subprocess.run([*pip, _PLAYWRIGHT], check=True)
    sys.path.append(str(site))
    with importlib.import_module("playwright.sync_api").sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield Opened(playwright, browser, _axe())
        finally:
            browser.close()


def failures() -> tuple[type[Exception], ...]:
    """Return the errors of a case that failed; the browser's are known once it is open."""
    return (AssertionError, importlib.import_module("playwright.sync_api").Error)


def _axe() -> str:
    modules = TOOLS / "node_modules" / "axe-core" / "axe.min.js"
    if not modules.exists():
        npm = ["npm", "install", "--silent", "--no-save", "--prefix", str(TOOLS), _AXE]
        subprocess.run(npm, check=True)
    return modules.read_text()
