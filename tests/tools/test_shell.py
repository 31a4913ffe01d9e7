import json
from pathlib import Path

import pytest

from agent.config import decode
from agent.errors import BadArguments, ConfigRefused, SandboxBroken
from agent.messages import Effect, Provenance
from agent.security.environment import SANDBOX_HOME
from agent.security.sandbox.base import SandboxJob, SandboxOutcome
from agent.settings import Settings
from agent.tools.settings import PROGRAMS, ShellSettings
from agent.tools.shell import ShellTool, Workshop
from tests.fakes.sandbox import EchoingSandbox, bubblewrap, no_bubblewrap
from tests.fakes.workspace import refused, told, used, workspace_in

needs_bubblewrap = pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())


class BrokenSandbox:
    """Never runs anything."""

    name = "broken"

    async def run(self, job: SandboxJob) -> SandboxOutcome:
        raise SandboxBroken("the sandbox cannot be started: no such file")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return workspace_in(tmp_path)


@pytest.fixture
def echo(workspace: Path) -> EchoingSandbox:
    return EchoingSandbox(workspace)


@pytest.fixture
def shell(echo: EchoingSandbox, workspace: Path) -> ShellTool:
    settings = ShellSettings(environment={"TZ": "Europe/Berlin"})
    return ShellTool(Workshop(echo, workspace, settings))


async def test_words_are_run_as_they_are_and_only_look(
    shell: ShellTool, echo: EchoingSandbox
) -> None:
    result = await used(shell, argv=["grep", "-n", "a; rm", "plan.txt"], folder="./notes/")
    assert json.loads(result.text) == {
        "exit": 0,
        "stdout": "printed",
        "stderr": "",
        "truncated": False,
    }
    assert (result.provenance, result.source) == (Provenance.TOOL, "shell")
    (job,) = echo.jobs
    assert job.argv == ("grep", "-n", "a; rm", "plan.txt")
    assert (job.folder, job.writes) == ("notes", False)
    assert job.environment["HOME"] == str(SANDBOX_HOME)
    assert job.environment["TZ"] == "Europe/Berlin"
    arguments = shell.parse('{"argv":["ls"]}')
    assert shell.effect_of(arguments) is Effect.READ
    assert shell.in_words(arguments) == ""


@pytest.mark.parametrize(
    ("argv", "folder", "places"),
    [
        (["cat", "diary/may.md"], ".", ["diary/may.md"]),
        (["cat", "./diary/may.md"], ".", ["diary/may.md"]),
        (["cat", "may.md"], "diary", ["diary/may.md"]),
        (["ls"], ".", []),
        (["ls", "diary/"], ".", ["diary"]),
        (["find", ".", "-name", "may.md"], ".", ["ame", "may.md"]),
        (["grep", "pump", "log.txt"], ".", ["pump", "log.txt"]),
        (["grep", "-rn", "pump"], ".", ["n", "pump", "."]),
        (["grep", "-nre.*", "log.txt"], ".", ["re.*", "log.txt", "."]),
        (["grep", "--recursive", "pump", "notes"], "house", ["house/pump", "house/notes", "house"]),
        (["grep", "-d", "recurse", "pump", "."], ".", ["recurse", "pump", "."]),
        (["grep", "-fdiary/words", "log.txt"], ".", ["diary/words", "log.txt"]),
        (["grep", "--file=diary/words", "log.txt"], ".", ["diary/words", "log.txt"]),
        (["jq", ".", "data.json"], ".", ["data.json"]),
    ],
)
def test_words_that_may_be_paths_are_told_to_the_owners_rules(
    shell: ShellTool, argv: list[str], folder: str, places: list[str]
) -> None:
    arguments = shell.parse(json.dumps({"argv": argv, "folder": folder}))
    assert list(shell.opens(arguments)) == places


def test_a_script_may_open_everything(shell: ShellTool) -> None:
    arguments = shell.parse('{"script":"cat di*/may.md","folder":"notes"}')
    assert shell.opens(arguments) == (".",)


async def test_a_script_can_change_things_and_says_where(
    shell: ShellTool, echo: EchoingSandbox
) -> None:
    arguments = shell.parse('{"script":"for x in 1 2; do\\n\\techo $x; done"}')
    assert shell.effect_of(arguments) is Effect.EXECUTE
    assert "sandbox (an echo): no network; it can change the workspace" in shell.in_words(arguments)
    await shell.execute(arguments, None)  # type: ignore[arg-type]  # it is not looked at
    assert echo.jobs[0].argv == ("sh", "-c", "for x in 1 2; do\n\techo $x; done")
    assert echo.jobs[0].writes


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "either argv or script"),
        ({"argv": ["ls"], "script": "ls"}, "either argv or script"),
        ({"argv": ["rm", "x"]}, "not an allowed program"),
        ({"argv": ["ls"], "folder": "../x"}, "folder:"),
        ({"argv": ["ls"], "folder": ".results"}, "only file_read reads"),
        ({"script": "ls \u202e"}, "invisible characters"),
        ({"script": "x" * 5000}, "length <= 4096"),
        ({"argv": ["ls"] * 65}, "length <= 64"),
        ({"argv": ["ls"], "approved": True}, "unknown field"),
        ({"argv": "ls"}, "array"),
    ],
)
async def test_what_is_refused_is_refused_before_anybody_is_asked(
    shell: ShellTool, echo: EchoingSandbox, arguments: dict[str, object], complaint: str
) -> None:
    with pytest.raises(BadArguments, match=complaint):
        shell.parse(json.dumps(arguments))
    assert echo.jobs == []


async def test_a_broken_sandbox_is_told(workspace: Path) -> None:
    shell = ShellTool(Workshop(BrokenSandbox(), workspace, ShellSettings()))
    assert "cannot be started" in await refused(shell, argv=["ls"])


@needs_bubblewrap
def test_always_is_for_scripts_that_say_what_they_run(shell: ShellTool, workspace: Path) -> None:
    (workspace / "tools").mkdir()
    for script, stands in (("sh tools/a.sh", True), ("sh tools/*.sh", False), ("ls *", True)):
        assert shell.stands(shell.parse(json.dumps({"script": script}))) is stands


async def test_a_day_of_looking_and_one_script(workspace: Path) -> None:
    shell = ShellTool(Workshop(bubblewrap(workspace), workspace, ShellSettings()))
    assert (await told(shell, argv=["ls"]))["stdout"] == "notes\npicture.png\nplan.txt\n"
    found = await told(shell, argv=["grep", "-c", "water", "today.md"], folder="notes")
    assert found["stdout"] == "2\n"
    assert (await told(shell, argv=["cat", "nothing.txt"]))["exit"] == 1
    script = "sort plan.txt > sorted.txt && head -n1 sorted.txt; printf 'a\\0b' >&2"
    done = await told(shell, script=script)
    assert (done["stdout"], done["stderr"]) == ("lamp 30 min\n", "ab")
    assert "2\n" in str(
        (await told(shell, script="cat < /dev/null; id -u; ip a; echo 2"))["stdout"]
    )


@needs_bubblewrap
async def test_kept_results_are_not_there_for_programs(workspace: Path) -> None:
    """Each has a trust of its own, which a program would not tell."""
    (workspace / ".results").mkdir()
    (workspace / ".results" / "1.web.txt").write_text("from the web")
    shell = ShellTool(Workshop(bubblewrap(workspace), workspace, ShellSettings()))
    assert "from the web" not in str(await told(shell, argv=["grep", "-r", "web", "."]))
    assert "from the web" not in str(await told(shell, script="cat .results/*"))


def test_the_owner_chooses_among_programs_with_a_grammar() -> None:
    def settings(text: str) -> ShellSettings:
        return decode(f"[shell]\n{text}\n", Settings, Path("barnacle.toml")).shell

    assert settings("").programs == PROGRAMS
    assert settings('programs = ["ls"]').programs == ("ls",)
    with pytest.raises(ConfigRefused, match="unknown program python3"):
        settings('programs = ["ls", "python3"]')


@pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
async def test_files_of_the_workspace_decide_nothing_by_their_names(tmp_path: Path) -> None:
    """Jq and file obey what lies at home; home is an empty folder, not the workspace."""
    workspace = workspace_in(tmp_path)
    (workspace / "a.json").write_text('{"a": 1}')
    (workspace / ".jq").write_text('def length: "hijacked";')
    (workspace / ".magic").write_text("0 string pump hijacked\n")
    tool = ShellTool(Workshop(bubblewrap(workspace), workspace, ShellSettings()))
    for argv in (["jq", "length", "a.json"], ["file", "plan.txt"]):
        result = await used(tool, argv=argv)
        assert result.success
        assert "hijacked" not in result.text
    listed = await used(tool, script="ls -A ~; cd ~; pwd")
    assert "plan.txt" not in listed.text
    assert '/tmp\\n"' in listed.text
