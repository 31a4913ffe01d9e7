"""`barnacle prompt`: what a model is told before a conversation, and which files count in it."""

from argparse import Namespace
from collections.abc import Iterator

from agent.app.prompt_files import PromptSections
from agent.cli import configuration, exits
from agent.cli.output import say, say_json
from agent.errors import BadArguments
from agent.settings import Paths, Settings
from agent.system.clock import SystemClock
from agent.text.printable import spelled_out
from agent.turn.prompt import PromptSetting, changing_prompt, stable_sections
from agent.turn.prompt_files import ProjectFile, counted

# Enough of a hash that no other text of anybody has it too
_LEAST_DIGITS = 24
_CHANNEL = "terminal"


def run(arguments: Namespace) -> int:
    settings, paths = configuration.load(arguments)
    briefing = PromptSections(paths, settings.agent.identity)
    if arguments.action is None:
        _print(settings, paths, briefing, as_json=arguments.json)
        return exits.OK
    file = _found(briefing, arguments.name)
    if arguments.action == "show":
        _show(file)
    elif arguments.action == "approve":
        _approve(briefing, file, arguments.hash)
    else:
        was_there = briefing.files.revoke(file.name)
        said = "removed from the prompt" if was_there else "was not in the prompt"
        say(f"{file.name} {said}")
    return exits.OK


def _print(settings: Settings, paths: Paths, briefing: PromptSections, *, as_json: bool) -> None:
    setting = PromptSetting(
        settings.agent.name,
        str(paths.workspace),
        _CHANNEL,
        has_hardware=True,
        briefing=briefing.sections(),
    )
    passages = [*stable_sections(setting), changing_prompt(SystemClock().wall_s(), ())]
    sections = [one.text for one in passages]
    sizes = [(_title(section), len(section.encode())) for section in sections]
    if as_json:
        say_json([{"section": title, "bytes": size} for title, size in sizes])
        return
    for section in sections:
        for line in section.splitlines():
            say(spelled_out(line))
        say("")
    for title, size in sizes:
        say(f"{size:6} bytes  {title}")
    say(f"{sum((size for _, size in sizes)):6} bytes  in total, without memories and tools")
    for line in _left_out(briefing, settings.agent.identity):
        say(line)


def _left_out(briefing: PromptSections, identity: str) -> Iterator[str]:
    """Yield a line for each file that is there, or should be, and does not count."""
    every = briefing.files.every()
    if identity and identity not in {file.name for file in every}:
        yield f"{identity} is not in the workspace (agent.identity)"
    told = {file.name for file in counted(every, identity)}
    for file in every:
        if file.problems:
            yield f"{file.name} is left out, it is invalid: {file.problems[0]}"
        elif not file.is_approved:
            yield (
                f"{file.name} is left out until you approve it: read it with `barnacle prompt "
                f"show {file.name}`"
            )
        elif file.name not in told:
            yield f"{file.name} is left out: {identity} counts instead (agent.identity)"


def _title(section: str) -> str:
    first = section.partition("\n")[0]
    return first.removeprefix("## ") if first.startswith("## ") else "Identity"


def _show(file: ProjectFile) -> None:
    """Print every character that counts of the file, so that nobody approves unseen text."""
    _refuse_invalid(file)
    for line in file.text.splitlines():
        say(spelled_out(line))
    for note in file.notes:
        say(f"== {spelled_out(note)}")
    short = file.digest[:_LEAST_DIGITS]
    say(f"== to approve exactly this: barnacle prompt approve {file.name} {short}")


def _refuse_invalid(file: ProjectFile) -> None:
    if file.problems:
        problems = "\n".join(f"{file.name}: {spelled_out(one)}" for one in file.problems)
        raise BadArguments(f"{problems}\ncorrect it, then show it again")


def _approve(briefing: PromptSections, file: ProjectFile, digest: str) -> None:
    _refuse_invalid(file)
    if len(digest) < _LEAST_DIGITS or not file.digest.startswith(digest):
        raise BadArguments(
            f"this hash does not match {file.name}: `barnacle prompt show {file.name}` "
            "shows the file and its present hash"
        )
    briefing.files.approve(file.name, file.digest)
    say(
        f"{file.name} added to the prompt in its present form; after a change it is "
        "left out until you approve it again"
    )


def _found(briefing: PromptSections, name: str) -> ProjectFile:
    found = next((one for one in briefing.files.every() if one.name == name), None)
    if found is None:
        names = ", ".join(briefing.files.names)
        raise BadArguments(f"no {name} in the workspace; files of the prompt: {names}")
    return found
