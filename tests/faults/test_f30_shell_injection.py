"""F30: every string that fooled a guard elsewhere is refused here, or is nothing but words."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import BadArguments, CommandRefused
from agent.messages import Effect
from agent.security.argv import GRAMMARS, accepted
from agent.security.paths import parts_of
from agent.tools.settings import PROGRAMS, ShellSettings
from agent.tools.shell import ShellTool, Workshop
from tests.fakes.sandbox import EchoingSandbox, bubblewrap, no_bubblewrap
from tests.fakes.workspace import used, workspace_in

needs_bubblewrap = pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())

# What a guard that reads a line and a shell that reads it again understood differently
LINES = [
    *("ls; reboot", "ls && reboot", "ls || reboot", "ls | sh", "ls & reboot", "ls\nreboot"),
    *("ls\rreboot", "ls\0reboot", "`reboot`", "$(reboot)", "echo $(reboot)", 'echo "$(reboot)"'),
    *("echo `reboot`", "cat <(reboot)", "cat >(reboot)", "ls > /etc/passwd", "cat < /etc/shadow"),
    *("echo hi >> ~/.bashrc", "echo $HOME", "echo ${IFS}", "cat$IFS/etc/passwd", "ls #; reboot"),
    *("r\\m -rf .", "'rm' -rf .", '"rm" -rf .', "$'rm' -rf .", "$'\\x72m' -rf .", "re''boot"),
    *("cat /etc/pass*", "cat /e?c/passwd", "{cat,/etc/passwd}", "cat ~root/.ssh/id_rsa"),
    # The reference's own, each of them accepted there under its defaults
    *("cat <<EOF -\nEOF\nreboot", "echo hi # <<X\nreboot", "cat <<EOF | cat\nhi\nEOF\nsh evil.sh"),
    *("python3 <<'EOF'\nprint(1)\nEOF", 'python3 "-c" "import os"', 'node "-e" "process.exit()"'),
    *('git "-c" core.pager=reboot log', "find . -execdir reboot \\;", "find . -okdir reboot \\;"),
    *("find . -delete", "find . -fprint x", 'find -ex"ec" reboot \\;', "cargo run", "npm test"),
    *("GIT_EXTERNAL_DIFF=reboot git diff", "LD_PRELOAD=./evil.so ls", "git submodule foreach sh"),
    *("git bisect run sh", "git grep --open-files-in-pager=sh x", "git log --output=x"),
    *("npm run x", "npm x", "python3 evil.py", "./git", "./evil/ls", "cat .?/.?/x"),
    *(
        '"rm" -rf /',
        "r\\m -rf /",
        "env rm -rf /",
        "busybox rm -rf /",
        "(rm -rf /)",
        "{ rm -rf /; }",
    ),
    *("if true; then rm -rf /; fi", "exec rm -rf /", "command rm -rf /", "nohup rm -rf /"),
    *("time rm -rf /", "xargs rm", "bash x.sh"),
    # Of other agents
    *("jq env .", "make all", "git pu\\sh", "env -S 'rm -rf /'", "tar --to-command=sh -xf x.tar"),
    *("cat <<EOF\n$(reboot)\nEOF", "sort --compress-prog=sh x", "sudo ls", "sh -c ls"),
    *("export KEY=secret; ls", "ls \u202e", "ls \u200b", "\uff4c\uff53", "l\u0455", "ls \x1b[2J"),
]

# The same and worse, already as words: no guard has to split them
WORDS = [
    *(["find", ".", "-exec", "sh", ";"], ["find", ".", "-execdir", "sh", ";"]),
    *(
        ["find", ".", "-ok", "sh", ";"],
        ["find", ".", "-okdir", "sh", ";"],
        ["find", ".", "-delete"],
    ),
    *(["find", ".", "-fprint", "x"], ["find", ".", "-fprint0", "x"], ["find", ".", "-fls", "x"]),
    *(["find", ".", "-fprintf", "x", "y"], ["find", "/etc"], ["find", "..", "-name", "x"]),
    *(
        ["find", ".", "-files0-from", "x"],
        ["find", ".", "-newer", "/etc/passwd"],
        ["find", "-D", "x"],
    ),
    *(["sort", "-o", "a.txt", "a.txt"], ["sort", "-oa.txt", "a.txt"], ["sort", "--outp=x", "a"]),
    *(["sort", "--compress-program=sh", "a"], ["sort", "--compress-prog", "sh", "a"]),
    *(["sort", "-T", "/", "a"], ["sort", "--files0-from=a"], ["sort", "-no", "x", "a"]),
    *(["wc", "--files0-from=a"], ["du", "--files0-from=a"], ["du", "-X", "a"]),
    *(["date", "-s", "2000-01-01"], ["date", "--set=x"], ["date", "--se=x"], ["date", "01010000"]),
    *(["date", "-f", "/etc/passwd"], ["date", "-us", "x"], ["date", "-r", "/etc/passwd"]),
    *(
        ["tail", "-f", "a"],
        ["tail", "-F", "a"],
        ["tail", "--follow", "a"],
        ["tail", "--pid=1", "a"],
    ),
    *(["grep", "-f", "/etc/passwd", "x"], ["grep", "--file=/etc/passwd"], ["grep", "x", "/etc/x"]),
    *(["grep", "--fi", "a", "x"], ["grep", "--color", "never", "x"], ["grep"], ["grep", "-e"]),
    *(
        ["uniq", "a.txt", "b.txt"],
        ["file", "-f", "a"],
        ["file", "-C", "-m", "a"],
        ["file", "-z", "a"],
    ),
    *(
        ["diff", "-l", "a", "b"],
        ["diff", "--to-file=/etc", "a"],
        ["diff", "a"],
        ["diff", "a", "/b"],
    ),
    *(["sha256sum", "-c", "a"], ["sha256sum", "--check", "a"], ["stat", "--printf=x", "/"]),
    *(
        ["jq", "env"],
        ["jq", "$ENV.PATH"],
        ["jq", "$ENV"],
        ["jq", "-f", "a"],
        ["jq", "-L", ".", "."],
    ),
    *(["jq", 'include "x"; .'], ["jq", 'import "x" as x; .'], ["jq", "--from-file", "a"]),
    *(["jq", "--rawfile", "x", "/etc/passwd", "."], ["jq", "--slurpfile", "x", "a", "."]),
    *(["jq", ".", "/etc/passwd"], ["jq", "-n", '"\\(env)"'], ["jq"], ["jq", "--run-tests"]),
    *(["cat", "/etc/passwd"], ["cat", "../secret.txt"], ["cat", "notes/../../secret.txt"]),
    *(["cat", "--", "/etc/passwd"], ["cat", "a\\b"], ["cat", "a\nb"], ["cat", "a\0b"], ["cat", ""]),
    *(
        ["cat", ".results/1.web.txt"],
        ["ls", "./.results"],
        ["cat"],
        ["ls", "--al"],
        ["ls", "--hyperlink"],
    ),
    *(
        ["/bin/ls"],
        ["./ls"],
        ["bin/ls"],
        ["../ls"],
        ["LS"],
        ["ls "],
        [" ls"],
        [""],
        ["-ls"],
        ["ls;"],
    ),
    *(
        ["env", "ls"],
        ["env", "-S", "ls"],
        ["sh", "-c", "ls"],
        ["bash"],
        ["busybox", "ls"],
        ["xargs"],
    ),
    *(
        ["python3", "-c", "x"],
        ["python3"],
        ["node"],
        ["perl", "-e", "x"],
        ["awk", "x"],
        ["sed", "x"],
    ),
    *(
        ["tar", "--to-command=sh"],
        ["git", "-c", "x", "log"],
        ["git", "log"],
        ["make"],
        ["vi"],
        ["tee"],
    ),
    *(
        ["LD_PRELOAD=x", "ls"],
        ["sudo", "ls"],
        ["nohup", "ls"],
        ["timeout", "1", "ls"],
        ["time", "ls"],
    ),
    *(
        ["uname", "x"],
        ["uptime", "x"],
        ["df", "/proc"],
        ["head", "-n", "x;y", "a"],
        ["cut", "-f", "$x"],
    ),
    *(
        ["echo", "\u202e"],
        ["echo", "a\u200bb"],
        ["echo", "\x1b[2J"],
        ["echo", "\ud800"],
        ["echo"] * 65,
    ),
    *(["echo", "x" * 5000], [], ["ls", "\uff0d\uff0d" * 3 + "/x/../.."], ["ls", "-\u0430/"]),
]

HARMLESS = [
    *(
        ["ls", "-la"],
        ["ls", "-l", "--sort=size", "notes/"],
        ["cat", "-n", "./plan.txt"],
        ["ls", "--"],
    ),
    *(
        ["grep", "-rn", "-e", "a", "-e", "b", "."],
        ["grep", "-A2", "--include=*.md", "-r", "pump", "notes"],
    ),
    *(
        ["grep", "-e", "x"],
        ["grep", "--regexp=x", "plan.txt"],
        ["grep", "-C", "3", "a;b|c", "plan.txt"],
    ),
    *(
        ["find", ".", "-type", "f", "-name", "*.md", "-not", "-empty"],
        ["find"],
        ["find", "notes", "-mtime", "-1"],
    ),
    *(
        ["find", ".", "(", "-name", "a", "-o", "-name", "b", ")", "-print"],
        ["sort", "-t,", "-k", "2n", "plan.txt"],
    ),
    *(
        ["head", "-n", "5", "plan.txt"],
        ["head", "-n5", "plan.txt"],
        ["tail", "--lines=+2", "plan.txt"],
    ),
    *(
        ["cut", "-d", ":", "-f", "1,3-5", "plan.txt"],
        ["uniq", "-c", "plan.txt"],
        ["wc", "-l", "plan.txt"],
    ),
    *(["jq", ".a | length", "a.json"], ["jq", "-r", "--indent", "2", ".", "a.json"], ["df", "-h"]),
    *(["du", "-sh", "."], ["date", "+%s"], ["date", "-u", "-d", "tomorrow"], ["uname", "-a"]),
    *(
        ["stat", "-c", "%s", "plan.txt"],
        ["diff", "-u", "plan.txt", "notes/today.md"],
        ["uptime", "-p"],
    ),
    *(
        ["sha256sum", "plan.txt"],
        ["file", "-b", "plan.txt"],
        ["echo", "a; rm -rf / | `x` $(y) > z"],
    ),
]


@pytest.mark.parametrize("line", LINES)
def test_a_line_for_a_shell_is_no_program(line: str) -> None:
    """Whole, it names no program; split at its spaces, its words are refused or only looked at."""
    with pytest.raises(CommandRefused):
        accepted([line], PROGRAMS)
    try:
        words = accepted(line.split(" "), PROGRAMS)
    except CommandRefused:
        return
    # Without a shell they are words to be shown, or names of files that nobody has
    assert words[0] in {"echo", "ls", "cat"}
    for word in words[1:]:
        assert words[0] == "echo" or parts_of(word)


def test_the_lists_are_as_long_as_was_promised() -> None:
    assert len(LINES) >= 26
    assert len(set(LINES)) == len(LINES)


@pytest.mark.parametrize("words", WORDS, ids=lambda words: " ".join(words)[:50] or "nothing")
def test_words_that_do_more_than_look_are_refused(words: list[str]) -> None:
    with pytest.raises(CommandRefused) as caught:
        accepted(words, PROGRAMS)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("words", HARMLESS, ids=" ".join)
def test_what_people_use_every_day_is_accepted(words: list[str]) -> None:
    assert accepted(words, PROGRAMS) == tuple(words)


def test_programs_that_the_owner_left_out_are_refused() -> None:
    with pytest.raises(CommandRefused, match=r"allowed are: cat, ls$"):
        accepted(["grep", "x"], ("ls", "cat", "python3"))
    assert set(PROGRAMS) == set(GRAMMARS)


# Words as an attacker would put them together
_PIECES = st.one_of(
    st.sampled_from(sorted({word for words in (*WORDS, *HARMLESS) for word in words})),
    st.text(max_size=12),
    st.from_regex(r"--?[a-z0-9=/.;|&$`]{1,8}", fullmatch=True),
)


@given(st.lists(_PIECES, max_size=6), st.sampled_from(sorted(GRAMMARS)))
async def test_what_is_executed_is_what_was_approved(words: list[str], program: str) -> None:
    sandbox = EchoingSandbox(Path("nowhere"))
    tool = ShellTool(Workshop(sandbox, Path("nowhere"), ShellSettings()))
    asked = [program, *words]
    try:
        arguments = tool.parse(json.dumps({"argv": asked}))
    except BadArguments:
        await tool.execute(tool.arguments_type(argv=tuple(asked)), None)  # type: ignore[arg-type]  # it is not looked at
        assert sandbox.jobs == []
        return
    await tool.execute(arguments, None)  # type: ignore[arg-type]  # it is not looked at
    assert [list(job.argv) for job in sandbox.jobs] == [asked]
    assert not sandbox.jobs[0].writes
    assert tool.effect_of(arguments) is Effect.READ


@needs_bubblewrap
async def test_the_kernel_was_given_the_very_words(tmp_path: Path) -> None:
    """What the process itself says its arguments are, with everything a shell would have read."""
    workspace = workspace_in(tmp_path)
    words = [
        "a b",
        "$(id)",
        "`id`",
        "*",
        "~",
        "$HOME",
        "#x",
        ";",
        "|",
        "&&",
        ">x",
        "'",
        '"',
        "",
        "\\",
    ]
    tool = ShellTool(Workshop(bubblewrap(workspace), workspace, ShellSettings()))
    found = json.loads((await used(tool, argv=["echo", *words])).text)
    assert found["stdout"] == " ".join(words) + "\n"
    script = "tr '\\0' '\\n' < /proc/$$/cmdline; echo done"
    found = json.loads((await used(tool, script=script)).text)
    assert found["stdout"] == f"sh\n-c\n{script}\ndone\n"


def names_in(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir()]


@needs_bubblewrap
@pytest.mark.parametrize(
    "line", [line for line in LINES if "\0" not in line and "\x1b" not in line]
)
async def test_even_as_a_script_nothing_leaves_the_sandbox(line: str, tmp_path: Path) -> None:
    """After a yes a shell does read them: then the sandbox is what holds."""
    workspace = workspace_in(tmp_path)
    outside = (tmp_path / "secret.txt").read_text()
    tool = ShellTool(Workshop(bubblewrap(workspace), workspace, ShellSettings()))
    try:
        arguments = tool.parse(json.dumps({"script": line}))
    except BadArguments:
        assert not line.isprintable()
        return
    assert tool.effect_of(arguments) is Effect.EXECUTE
    result = await tool.execute(arguments, None)  # type: ignore[arg-type]  # it is not looked at
    assert "root:" not in result.text
    assert (tmp_path / "secret.txt").read_text() == outside
    assert sorted(names_in(tmp_path)) == ["secret.txt", "workspace"]
