"""Tool that runs programs in the workspace: one program by its words, or a script after a question.

Words are checked by the program's grammar and are executed as they are; programs that have one
only look. A script is a shell's, so nothing of it can be known beforehand: the sandbox, which has
no network, is all that holds it. Without a sandbox there is no such tool.
"""

import posixpath
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from agent.errors import BadArguments, BarnacleError, CommandRefused
from agent.messages import Effect, ToolResult
from agent.passage import Provenance, echo, own, read
from agent.security.act import Dependence
from agent.security.argv import MAX_BYTES, MAX_WORDS, accepted
from agent.security.environment import SANDBOX_HOME, child_environment
from agent.security.grammars.base import path as refuse_path
from agent.security.paths import HERE
from agent.security.sandbox.base import Sandbox, SandboxJob, SandboxOutcome
from agent.security.script_files import chooses_files, files_run
from agent.security.shares import Disclosure
from agent.tools.base import Tool, ToolContext
from agent.tools.files import PathArguments, RelativePath, plain
from agent.tools.settings import ShellSettings

_LAYOUT = "\n\t"
# Programs that read what is in the files of a folder
_READ_FOLDERS = frozenset({"grep", "diff"})
# Not within the value of another option
_RECURSIVE = re.compile(r"-[^-efdmABCDrR]*[rR].*")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class ShellArguments(PathArguments, frozen=True):
    """Words of a program, or a script; never both."""

    argv: Annotated[
        tuple[Annotated[str, Meta(max_length=MAX_BYTES)], ...],
        Meta(max_length=MAX_WORDS, description='such as ["grep","-n","pump","log.txt"]'),
    ] = ()
    script: Annotated[
        str, Meta(max_length=MAX_BYTES, description="for sh, only where argv cannot do it")
    ] = ""
    folder: RelativePath = "."


class Workshop(Struct, frozen=True):
    """Workspace, sandbox and allowed programs."""

    sandbox: Sandbox
    workspace: Path
    settings: ShellSettings

    def job(self, argv: tuple[str, ...], folder: str, *, writes: bool) -> SandboxJob:
        environment = child_environment(SANDBOX_HOME, self.settings.environment)
        return SandboxJob(argv, environment, plain(folder), writes)


class ShellTool(Tool[ShellArguments]):
    """Runs a program or a script."""

    reads = Provenance.TOOL
    name = "shell"
    description = own("Run a program such as ls, grep, find, sort or jq by its words, or a script.")
    effect = Effect.EXECUTE
    arguments_type = ShellArguments

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop

    def parse(self, arguments_json: str) -> ShellArguments:
        """Parse the arguments and refuse a forbidden command before anybody is asked."""
        arguments = super().parse(arguments_json)
        try:
            self._argv(arguments)
        except CommandRefused as err:
            # Nothing but the arguments was looked at
            raise BadArguments(echo(str(err))) from err
        return arguments

    def effect_of(self, arguments: ShellArguments) -> Effect:
        # Every grammar leaves out what does more than look
        return Effect.EXECUTE if arguments.script else Effect.READ

    def in_words(self, arguments: ShellArguments) -> str:
        if not arguments.script:
            return ""
        name = self._workshop.sandbox.name
        return f"run a sh script in the sandbox ({name}): no network; it can change the workspace"

    def binds_to(self, arguments: ShellArguments) -> Dependence:
        job = self._workshop.job((), arguments.folder, writes=False)
        if arguments.script:
            run = files_run(self._workshop.workspace, job.folder or HERE, arguments.script)
            return Dependence(self._workshop.workspace, run, job.environment)
        beneath = "" if job.folder == HERE else f"{job.folder}/"
        files = [f"{beneath}{word}" for word in arguments.argv[1:] if not refuse_path(word)]
        return Dependence(self._workshop.workspace, files, job.environment)

    def stands(self, arguments: ShellArguments) -> bool:
        """Return false for a script of which nobody can say now what it will run."""
        folder = plain(arguments.folder) or HERE
        return not chooses_files(self._workshop.workspace, folder, arguments.script)

    def opens(self, arguments: ShellArguments) -> tuple[str, ...]:
        folder = plain(arguments.folder) or HERE
        return (HERE,) if arguments.script else opened_by(arguments.argv, folder)

    def shows(self, arguments: ShellArguments) -> Disclosure:
        return Disclosure(
            # Words may be patterns as well as paths, and all of them lie beneath the folder
            trees=(HERE if arguments.script else plain(arguments.folder) or HERE,)
        )

    async def execute(self, arguments: ShellArguments, context: ToolContext) -> ToolResult:
        try:
            argv = self._argv(arguments)
            writes = bool(arguments.script)
            job = self._workshop.job(argv, arguments.folder, writes=writes)
            outcome = await self._workshop.sandbox.run(job)
        except BarnacleError as err:
            return ToolResult.failed(err.words(self.reads, "shell"))
        return told(outcome, "shell")

    def _argv(self, arguments: ShellArguments) -> tuple[str, ...]:
        """Return the words to execute, unchanged.

        Raises:
            CommandRefused: it may not be.
        """
        if complaint := refuse_path(arguments.folder):
            raise CommandRefused(f"folder: {complaint}")
        if bool(arguments.argv) == bool(arguments.script):
            raise CommandRefused("give either argv or script")
        if not arguments.script:
            return accepted(arguments.argv, self._workshop.settings.programs)
        hidden = {char for char in arguments.script if unicodedata.category(char) in _HIDDEN}
        if hidden - set(_LAYOUT):
            raise CommandRefused("the script contains invisible characters")
        return ("sh", "-c", arguments.script)


def opened_by(argv: Sequence[str], folder: str) -> tuple[str, ...]:
    """Return what a program may open: each of its words may be a path, in doubt it is one."""
    program, *words = argv
    named = [word if word[:1] != "-" else _value_in(word) for word in words]
    places = [word for word in named if word and not refuse_path(word)]
    if program == "grep" and any(map(_searches_folders, words)):
        places.append(HERE)
    if program not in _READ_FOLDERS:
        # A filter of jq, or names alone
        places = [one for one in places if posixpath.normpath(one) != HERE]
    return tuple(dict.fromkeys(posixpath.normpath(f"{folder}/{one}") for one in places))


def _value_in(option: str) -> str:
    return option.partition("=")[2] if option.startswith("--") else option[2:]


def _searches_folders(word: str) -> bool:
    return "recurs" in word or _RECURSIVE.fullmatch(word) is not None


def told(outcome: SandboxOutcome, source: str) -> ToolResult:
    """Return exit and output as a result; anybody may have written what the program read."""
    fields: dict[str, object] = {
        "exit": outcome.exit,
        "stdout": _text(outcome.stdout),
        "stderr": _text(outcome.stderr),
        "truncated": outcome.truncated,
    }
    if outcome.ended:
        fields["ended"] = outcome.ended
    return ToolResult(outcome.exit is not None, read(fields, Provenance.TOOL, source))


def _text(stream: bytes) -> str:
    # A zero byte says nothing, and takes six in JSON
    return stream.replace(b"\0", b"").decode(errors="replace")
