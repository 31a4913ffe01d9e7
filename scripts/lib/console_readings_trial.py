"""The curves of readings in a real browser."""

import re

from scripts.lib.console_browser import Trial

_YEAR = re.compile(r"20\d\d")
# Notes what is written onto a canvas: the curves' axes
_NOTING = """
window.labels = [];
const fillText = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    window.labels.push(text);
    return fillText.call(this, text, ...place);
};
"""


def readings(trial: Trial) -> None:
    """Draw the little that a new device has read: beside it stand hours, not years."""
    page = trial.entered()
    page.add_init_script(_NOTING)
    page.goto(f"{trial.whole.base}/readings")
    # The record begins at the next ten seconds of the clock
    while page.query_selector(".plot canvas") is None:
        page.wait_for_timeout(1000)
        page.reload()
    page.screenshot(path=trial.shots / "readings-first-360.png")
    labels = page.evaluate("window.labels")
    assert labels, "no axis was drawn"
    assert [one for one in labels if _YEAR.fullmatch(one)] == []
