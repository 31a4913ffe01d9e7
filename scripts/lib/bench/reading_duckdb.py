"""DuckDB beside the record of readings: the same questions of as many values, in the same run.

It is of no use here otherwise, so it lives in an environment of its own, which `--duckdb` names, or
beside the tools of a developer; without one a row says how to make it.
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.lib.bench.reading_history import ASKED, BEGIN_MS, SENSORS
from scripts.lib.bench.table import Row

_PROGRAM = Path(__file__).with_name("duckdb_peer.py")
_HOW = "venv with duckdb: --duckdb VENV"
_MB = 1_000_000


@dataclass(frozen=True, slots=True)
class DuckDbAnswers:
    """CPU of its answers by the days of a span, and the size of its file; or why there are none."""

    p50_ms: Mapping[int, float]
    size_bytes: int = 0
    version: str = ""
    trouble: str = ""

    def beside(self, days: int) -> str:
        return f"DuckDB {self.p50_ms[days]:.1f} ms" if days in self.p50_ms else ""

    def row(self, own_bytes: int) -> Row:
        """Return the row of the files, or of why it is not there."""
        if self.trouble:
            return Row("DuckDB beside", "-", "not run", self.trouble, None)
        theirs = f"DuckDB {self.version}: {self.size_bytes / _MB:.1f} MB, every value of a year"
        return Row("bytes of the same history", "-", f"{own_bytes / _MB:.1f} MB", theirs, None)


def answers(folder: Path, days: int, environment: Path | None) -> DuckDbAnswers:
    """Ask it, where it is."""
    if environment is None and importlib.util.find_spec("duckdb") is None:
        return DuckDbAnswers({}, trouble=_HOW)
    python = Path(sys.executable) if environment is None else environment / "bin" / "python"
    counts = (BEGIN_MS, days, SENSORS, ASKED)
    command = [str(python), str(_PROGRAM), str(folder / "duck.db"), *map(str, counts)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as err:
        return DuckDbAnswers({}, trouble=f"{python} does not start: {err}")
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "Error: " in line]
        return DuckDbAnswers({}, trouble=f"{python}: {said[-1] if said else done.returncode}")
    told = json.loads(done.stdout)
    p50_ms = {int(length): ms for length, ms in told["ms"].items()}
    return DuckDbAnswers(p50_ms, told["bytes"], told["version"])
