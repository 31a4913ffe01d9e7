"""The script of the readings page in Node, with as much of uPlot as it touches."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path("agent/console/static/plot.js")
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="no Node here: apt-get install nodejs")

# One curve on a page; uPlot's ends of the x axis, as it gives them to `range`, are `ends`
PAGE = """
const place = {
  clientWidth: 320, replaceChildren() {},
  dataset: { times: JSON.stringify(times), values: JSON.stringify(times), name: "a0", unit: "V" },
};
let drawn;
globalThis.uPlot = class {
  constructor(options, data) { drawn = options.scales.x.range({ data }, ...ends); }
};
globalThis.window = { addEventListener: (type, what) => type === "DOMContentLoaded" && what(),
  matchMedia: () => ({ addEventListener() {} }) };
globalThis.getComputedStyle = () => ({ getPropertyValue: () => "" });
globalThis.document = {
  documentElement: {}, querySelector: () => null, querySelectorAll: () => [place],
};
"""
NOW_S = 1_800_000_000
# To the only reading of an axis of time uPlot adds a day in milliseconds
_ONE_READING_S = 86_400_000


@pytest.mark.parametrize(
    ("times", "ends", "drawn"),
    [
        ([NOW_S], [NOW_S, NOW_S + _ONE_READING_S], [NOW_S - 3600, NOW_S]),
        ([NOW_S - 20, NOW_S], [NOW_S - 20, NOW_S], [NOW_S - 3600, NOW_S]),
        ([NOW_S - 600, NOW_S], [NOW_S - 600, NOW_S], [NOW_S - 600, NOW_S]),
    ],
)
def test_few_readings_stand_in_an_hour(times: list[int], ends: list[int], drawn: list[int]) -> None:
    given = f"const times = {times}, ends = {ends};"
    lines = [given, PAGE, SCRIPT.read_text(), "process.stdout.write(JSON.stringify(drawn));"]
    done = subprocess.run(
        [str(NODE), "-"], input="\n".join(lines), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == drawn
