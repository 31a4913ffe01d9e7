"""Files that a script runs: programs, scripts of interpreters, what they source and run."""

import os
from collections import Counter
from pathlib import Path

import pytest

from agent.security import script_files
from agent.security.script_files import chooses_files, files_run


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
        # An option of what starts a command is no command
        ("env -i ./plain", {"plain"}),
        ("nice -n 5 ./plain", {"plain"}),
        # A comment ends with its line, and begins a word
        ("# water the garden\n./plain", {"plain"}),
        ("echo done # ./tool\n./plain", {"plain", "tool"}),
        ("# don't\n./plain\n# isn't", {"plain"}),
        ("echo a#b; ./plain", {"plain"}),
        ("echo $#; ./plain", {"plain"}),
        ("# ./plain", set()),
    ],
)
def test_what_a_script_runs_is_found(workspace: Path, script: str, run: set[str]) -> None:
    assert set(files_run(workspace, ".", script)) == run


@pytest.mark.parametrize(
    ("script", "is_open"),
    [
        ("sh lib/*.sh", True),
        ("sh water?sh", True),
        ("for f in lib/*; do sh $f; done", True),
        ("sh -c 'sh $x'", True),
        ("sh -c 'sh plain'", False),
        ("sh 'two words.sh'", False),
        # A script that it runs chooses
        ("sh chooser", True),
        ("python3 count.py", False),
        ("python3 lib", True),
        # No shell reads it to its end
        ("sh 'plain", True),
        ('for f in *.csv; do wc -l "$f"; done', False),
        ("awk '$1 > 2' data.csv", False),
        ("echo $(date) >> log.txt", False),
        ("", False),
    ],
)
def test_a_script_may_choose_what_it_runs(workspace: Path, script: str, is_open: bool) -> None:  # noqa: FBT001 - a case of a table
    (workspace / "chooser").write_text("#!/bin/sh\nfor f in lib/*; do . $f; done\n")
    assert chooses_files(workspace, ".", script) is is_open


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


def test_a_script_with_a_first_line_is_read_to_its_end(workspace: Path) -> None:
    (workspace / "tool").write_text("#!/bin/sh\n./plain\n")
    assert files_run(workspace, ".", "./tool") == ("tool", "plain")
    (workspace / "tool").write_text("#!/usr/bin/env python3\nsh plain\n")
    assert files_run(workspace, ".", "./tool") == ("tool",)


@pytest.mark.parametrize(
    "starter",
    [
        *("env", "nohup", "timeout", "nice", "ionice", "time", "exec", "command", "xargs"),
        *("setsid", "busybox", "stdbuf", "builtin", "then", "do", "else", "if", "while", "until"),
        *("!", "{", "("),
    ],
)
def test_what_a_starter_starts_is_run(workspace: Path, starter: str) -> None:
    assert files_run(workspace, ".", f"{starter} ./plain") == ("plain",)


@pytest.mark.parametrize("option", ["-f", "--file", "--from-file", "-i", "--include"])
def test_an_option_that_means_a_file_names_one(workspace: Path, option: str) -> None:
    assert files_run(workspace, ".", f"measure {option} plain") == ("plain",)
    assert files_run(workspace, ".", "measure -x plain") == ()


@pytest.mark.parametrize(
    "name",
    [
        *("sh", "bash", "dash", "zsh", "ksh", "ash", "python3.11", "perl", "ruby", "lua5.4"),
        *("node", "nodejs", "php", "awk", "gawk", "mawk", "nawk", "sed", "jq", "bc", "dc", "ed"),
        *("make", "gmake", "expect", "tclsh", "m4", ".", "source", "/usr/bin/python3"),
    ],
)
def test_what_an_interpreter_is_given_is_run(workspace: Path, name: str) -> None:
    assert "plain" in files_run(workspace, ".", f"{name} -x plain")


@pytest.mark.parametrize("ending", [".sh", ".mk"])
def test_a_program_by_its_ending_is_read_as_a_shell_does(workspace: Path, ending: str) -> None:
    (workspace / f"x{ending}").write_text("./plain")
    assert files_run(workspace, ".", f"show x{ending}") == (f"x{ending}", "plain")


@pytest.mark.parametrize("ending", [".py", ".pl", ".awk", ".sed", ".jq", ".js", ".rb", ".lua"])
def test_a_program_of_another_language_names_what_it_runs(workspace: Path, ending: str) -> None:
    (workspace / f"x{ending}").write_text("./plain tool")
    assert files_run(workspace, ".", f"show x{ending}") == (f"x{ending}", "tool")


@pytest.mark.parametrize("command", ["make", "gmake", "/usr/bin/make"])
@pytest.mark.parametrize("name", ["GNUmakefile", "makefile", "Makefile"])
def test_make_reads_its_file_by_every_name(workspace: Path, command: str, name: str) -> None:
    (workspace / "Makefile").rename(workspace / name)
    assert set(files_run(workspace, ".", f"{command} all")) == {name, "lib/inner.sh"}
    assert files_run(workspace, ".", "touch make") == ()


def test_a_file_that_may_be_executed_is_a_program(workspace: Path) -> None:
    (workspace / "plain").chmod(0o644)
    assert files_run(workspace, ".", "show plain") == ()
    (workspace / "plain").chmod(0o744)
    assert files_run(workspace, ".", "show plain") == ("plain",)


def test_names_are_meant_from_the_folder_of_a_script_too(workspace: Path) -> None:
    (workspace / "lib/outer.sh").write_text(". ./common")
    (workspace / "lib/common").write_text("echo")
    assert files_run(workspace, ".", "sh lib/outer.sh") == ("lib/outer.sh", "lib/common")


def test_no_more_files_than_a_person_reads_are_named(workspace: Path) -> None:
    for number in range(70):
        (workspace / f"part{number}").write_text("echo")
    script = "; ".join(f"./part{number}" for number in range(70))
    assert len(files_run(workspace, ".", script)) == 64
    # The rest would be nobody's concern
    assert chooses_files(workspace, ".", script)


def test_what_is_too_long_to_be_read_may_run_anything(workspace: Path) -> None:
    (workspace / "plain").write_text("echo\n" * 100_000 + "./tool\n")
    assert chooses_files(workspace, ".", "sh plain")


def test_a_name_that_no_disk_takes_is_no_file(workspace: Path) -> None:
    """Each part of it may be, but the whole is longer than the system reads."""
    name = "/".join(["a" * 255] * 16)
    assert files_run(workspace, ".", f"sh {name}; ./plain") == ("plain",)


def test_a_file_that_goes_while_it_is_looked_at_counts(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was there when it was named, and may be back when the script runs."""
    look, looks = Path.stat, Counter[str]()

    def look_twice(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        looks[path.name] += 1
        if looks["data.csv"] > 1:
            (workspace / "data.csv").unlink(missing_ok=True)
        return look(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", look_twice)
    assert files_run(workspace, ".", "show data.csv") == ("data.csv",)
