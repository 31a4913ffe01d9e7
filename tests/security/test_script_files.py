"""Files that a script runs: programs, scripts of interpreters, what they source and run."""

from pathlib import Path

import pytest

from agent.security import script_files
from agent.security.script_files import files_run


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    texts = {
        "water.sh": ". lib/common\necho done >> log.txt\npython3 count.py\n",
        "lib/common": "sh lib/inner.sh log.txt\n",
        "lib/inner.sh": "echo hello",
        "count.py": "import helper\nprint(open('data.csv').read())\n",
        "helper.py": "x = 1",
        "log.txt": "done",
        "data.csv": "1,2",
        "sum.awk": "{ s += $1 }",
        "change.sed": "s/a/b/",
        "first.jq": ".a",
        "Makefile": "all:\n\tsh lib/inner.sh\n",
        "tool": "#!/bin/sh\necho\n",
        "plain": "echo plain",
        "two words.sh": "echo two",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("script", "run"),
    [
        ("sh water.sh", {"water.sh", "lib/common", "lib/inner.sh", "count.py", "helper.py"}),
        ("./water.sh", {"water.sh", "lib/common", "lib/inner.sh", "count.py", "helper.py"}),
        ("echo x; sh plain", {"plain"}),
        ("bash -e plain log.txt", {"plain"}),
        ("timeout 5 sh plain", {"plain"}),
        ("A=1 sh plain", {"plain"}),
        ("./tool", {"tool"}),
        ("cat data.csv | ./plain", {"plain"}),
        ("awk -f sum.awk data.csv", {"sum.awk"}),
        ("sed -f change.sed log.txt", {"change.sed"}),
        ("jq -f first.jq data.csv", {"first.jq"}),
        (". ./plain", {"plain"}),
        ("source plain && ls", {"plain"}),
        ("make all", {"Makefile", "lib/inner.sh"}),
        ("cd lib && sh inner.sh", {"lib/inner.sh"}),
        ("sh -c 'sh plain'", {"plain"}),
        ("sh 'two words.sh'", {"two words.sh"}),
        ("if true; then sh plain; fi", {"plain"}),
        ("cat log.txt", set()),
        ("sort data.csv > log.txt", set()),
        # Not understood: whatever is named counts
        ("X=$(cat log.txt); sh plain", {"log.txt", "plain"}),
        ("eval sh plain; cat data.csv", {"plain", "data.csv"}),
        ("sh 'plain", {"plain"}),
        ("sh ../outside.sh /etc/passwd", set()),
        ("sh nowhere.sh", set()),
    ],
)
def test_what_a_script_runs_is_found(workspace: Path, script: str, run: set[str]) -> None:
    assert set(files_run(workspace, ".", script)) == run


def test_names_are_meant_from_where_it_begins(workspace: Path) -> None:
    assert files_run(workspace, "lib", "sh inner.sh") == ("lib/inner.sh",)


def test_files_that_name_one_another_end(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace / "plain").write_text("sh water.sh; sh plain")
    (workspace / "water.sh").write_text("sh plain")
    assert set(files_run(workspace, ".", "sh plain")) == {"plain", "water.sh"}
    monkeypatch.setattr(script_files, "MAX_FILES", 1)
    assert files_run(workspace, ".", "sh plain") == ("plain",)


def test_what_cannot_be_opened_is_named_all_the_same(workspace: Path) -> None:
    (workspace / "linked.sh").hardlink_to(workspace / "plain")
    assert files_run(workspace, ".", "sh linked.sh") == ("linked.sh",)


def test_a_first_line_says_who_reads_it(workspace: Path) -> None:
    (workspace / "plain").write_text("#!/usr/bin/env python3\nprint(open('data.csv'))\n")
    assert files_run(workspace, ".", "./plain") == ("plain",)
    (workspace / "plain").write_text("#!/bin/bash\nsh lib/inner.sh\n")
    assert files_run(workspace, ".", "./plain") == ("plain", "lib/inner.sh")
