"""Tool that runs git in the sandbox, on a repository of the workspace.

Without a network, hooks, other programs and other settings; a repository whose own settings could
start something is not touched. Words are checked by the command's grammar and executed as they are.
"""

import asyncio
import shutil
from typing import Annotated

from msgspec import Meta

from agent.errors import BadArguments, BarnacleError, CommandRefused
from agent.messages import Effect, ToolResult
from agent.passage import Provenance, echo, own
from agent.security.argv import MAX_BYTES, MAX_WORDS, refuse_unreadable
from agent.security.environment import PATH
from agent.security.git_settings import FOLDER, git_environment, refuse_nested, refuse_repository
from agent.security.grammars import git
from agent.security.grammars.base import path as refuse_path
from agent.security.grammars.git import only_looks
from agent.security.paths import HERE
from agent.security.sandbox.base import SandboxJob
from agent.security.shares import Disclosure
from agent.tools.base import Tool, ToolContext
from agent.tools.files import DISK_TIMEOUT_S, PathArguments, RelativePath, plain
from agent.tools.shell import Workshop, told


class GitArguments(PathArguments, frozen=True):
    """Words of a git command, and the folder of the repository."""

    argv: Annotated[
        tuple[Annotated[str, Meta(max_length=MAX_BYTES)], ...],
        Meta(
            min_length=1, max_length=MAX_WORDS, description='such as ["log","--oneline","-n","5"]'
        ),
    ]
    repository: RelativePath = HERE


class GitTool(Tool[GitArguments]):
    """Runs a command of git."""

    reads = Provenance.TOOL
    name = "git"
    description = own(
        "Status, log, diff, blame, add, commit, branch, merge, stash, tag of a repository here."
    )
    effect = Effect.WRITE
    arguments_type = GitArguments

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop

    def parse(self, arguments_json: str) -> GitArguments:
        """Parse the arguments and refuse a forbidden command before anybody is asked."""
        arguments = super().parse(arguments_json)
        try:
            words_of(arguments)
        except CommandRefused as err:
            # Nothing but the arguments was looked at
            raise BadArguments(echo(str(err))) from err
        return arguments

    def effect_of(self, arguments: GitArguments) -> Effect:
        return Effect.READ if only_looks(arguments.argv) else Effect.WRITE

    def opens(self, arguments: GitArguments) -> tuple[str, ...]:
        # Whatever its words are: a commit has every file
        return (plain(arguments.repository) or HERE,)

    def shows(self, arguments: GitArguments) -> Disclosure:
        return Disclosure(trees=(plain(arguments.repository) or HERE,))

    async def execute(self, arguments: GitArguments, context: ToolContext) -> ToolResult:
        folder = plain(arguments.repository) or HERE
        try:
            argv = words_of(arguments)
            async with asyncio.timeout(DISK_TIMEOUT_S):
                person = await asyncio.to_thread(self._look, argv[1], folder)
            workspace = self._workshop.workspace.absolute()
            # git would write the place of a new repository into its settings
            repository = None if argv[1] == "init" else workspace / folder
            environment = git_environment(repository, person)
            writes = not only_looks(arguments.argv)
            outcome = await self._workshop.sandbox.run(
                SandboxJob(argv, environment, folder, writes)
            )
        except TimeoutError:
            return ToolResult.failed(own("the storage is too slow to check the whole repository"))
        except BarnacleError as err:
            return ToolResult.failed(err.words(self.reads, "git"))
        return told(outcome, "git")

    def _look(self, command: str, folder: str) -> frozenset[str]:
        """Check the whole repository before git runs; `init` needs a folder without one.

        Return what the repository says of who commits.
        """
        if command != "init":
            return refuse_repository(self._workshop.workspace, folder)
        refuse_nested(self._workshop.workspace, folder)
        inside = self._workshop.workspace / folder / FOLDER
        if inside.exists() or inside.is_symlink():
            raise CommandRefused("a repository already exists here")
        return frozenset()


def words_of(arguments: GitArguments) -> tuple[str, ...]:
    """Return the words to execute, unchanged.

    Raises:
        CommandRefused: it may not be.
    """
    refuse_unreadable(arguments.argv)
    if complaint := refuse_path(arguments.repository):
        raise CommandRefused(f"repository: {complaint}")
    if complaint := git.complaint(arguments.argv):
        raise CommandRefused(complaint)
    return ("git", *arguments.argv)


def find_git() -> str | None:
    return shutil.which("git", path=PATH)
