import subprocess
import sys

import pytest

from agent.text.config_hints import install_hint
from tests.structure.install_lines import extras, lines, trouble
from tests.structure.sources import ROOT

# An index answers, or nobody does
PIP_TIMEOUT_S = 100


def test_every_line_that_tells_to_install_a_part_is_one_that_works() -> None:
    found = [(place, line) for place, line in lines() if "pip install" in line or "--extra" in line]
    known = extras()
    wrong = [(place, why) for place, line in lines() if (why := trouble(line, known))]
    assert wrong == []
    assert len(found) >= 8
    sys.stdout.write(f"\n{len(found)} lines that tell to install a part, 0 wrong\n")


def test_what_is_printed_for_each_extra_works() -> None:
    told = [install_hint(extra) for extra in extras()]
    assert [why for line in told if (why := trouble(line, extras()))] == []


@pytest.mark.parametrize(
    "line",
    [
        "pip install 'barnacle[gateway]'",
        "pip install barnacle",
        "pipx install barnacle",
        "uv pip install barnacle-agent barnacle",
        "needs `barnacle[mcp]`",
        "`pip install '.[gateway]'`",
        "`.venv/bin/pip install '.[gatway]'`",
        "`.venv/bin/pip install gateway`",
        "`sudo scripts/install --extra gatway`",
    ],
)
def test_a_line_that_does_not_work_is_found(line: str) -> None:
    assert trouble(line, extras())


def test_pip_knows_the_distribution_and_all_of_its_extras() -> None:
    """Resolved by pip itself; what it depends on is the locks' business."""
    wanted = f".[{','.join(sorted(extras()))}]"
    command = (sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", wanted)
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=PIP_TIMEOUT_S, check=False
    )
    if done.returncode and "hatchling" in done.stdout + done.stderr:
        pytest.skip("no index is reachable here that has hatchling, which builds the package")
    assert done.returncode == 0, done.stderr
    assert "Would install barnacle-agent-" in done.stdout
    assert "does not provide the extra" not in done.stdout + done.stderr
