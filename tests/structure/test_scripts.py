"""Every program in scripts/ can be started and read by its shell; CI adds nothing of its own."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.structure.sources import ROOT, files


def _is_shell(path: Path) -> bool:
    return path.suffix == ".sh" or "bash" in (ROOT / path).read_text().partition("\n")[0]


LIBRARIES = [
    path for path in files() if path.parent == Path("scripts/lib") and path.suffix == ".sh"
]
PROGRAMS = [
    path
    for path in files()
    if path.parts[0] in {"scripts", ".ci"} and len(path.parts) == 2 and not path.suffix
]


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_a_program_can_be_started(program: Path) -> None:
    assert os.access(ROOT / program, os.X_OK)
    assert (ROOT / program).read_text().startswith(("#!/usr/bin/env bash\n", "#!/usr/bin/env py"))


@pytest.mark.parametrize(
    "program",
    [path for path in [*PROGRAMS, *LIBRARIES] if _is_shell(path)],
    ids=str,
)
def test_a_shell_program_parses(program: Path) -> None:
    done = subprocess.run(["bash", "-n", ROOT / program], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_ci_runs_the_command_that_the_readme_names() -> None:
    assert (ROOT / ".ci/run").read_text().endswith("\nexec ./scripts/test\n")
    assert "./scripts/test" in (ROOT / "README.md").read_text()
