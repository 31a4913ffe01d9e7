"""`barnacle prompt`: what a model is told before a conversation, and which files count in it."""

from argparse import Namespace

from agent.briefing import Briefing
from agent.cli import exits, surroundings
from agent.cli.output import say, say_json
from agent.clock import SystemClock
from agent.dispatch.project import FILES, ProjectFile
from agent.dispatch.prompt import PromptSetting, changing_prompt, stable_sections
from agent.errors import BadArguments
from agent.printable import spelled_out
from agent.settings import Paths, Settings

# Enough of a hash that no other text of anybody has it too
_LEAST_DIGITS = 24
_CHANNEL = "terminal"


def run(arguments: Namespace) -> int:
    settings, paths = surroundings.of(arguments)
    briefing = Briefing(paths)
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
        said = "is left out of the prompt" if was_there else "was not in the prompt"
        say(f"{file.name} {said}")
    return exits.OK


def _print(settings: Settings, paths: Paths, briefing: Briefing, *, as_json: bool) -> None:
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
    say(f"{sum(size for _, size in sizes):6} bytes  in all; memories and tools are sent beside it")
    for file in briefing.files.every():
        if not file.is_approved:
            say(f"{file.name} is left out until you approve it: `barnacle prompt show {file.name}`")


def _title(section: str) -> str:
    first = section.partition("\n")[0]
    return first.removeprefix("## ") if first.startswith("## ") else "Identity"


def _show(file: ProjectFile) -> None:
    """Every character of it, so that nobody approves what he has not seen."""
    for line in file.text.splitlines():
        say(spelled_out(line))
    short = file.digest[:_LEAST_DIGITS]
    say(f"== to approve exactly this: barnacle prompt approve {file.name} {short}")


def _approve(briefing: Briefing, file: ProjectFile, digest: str) -> None:
    if len(digest) < _LEAST_DIGITS or not file.digest.startswith(digest):
        raise BadArguments(
            f"{file.name} is not what this hash was of: `barnacle prompt show {file.name}` shows "
            "it as it is now, with its hash"
        )
    briefing.files.approve(file.name, file.digest)
    say(f"{file.name} is in the prompt as it is; changed, it is left out until you approve it")


def _found(briefing: Briefing, name: str) -> ProjectFile:
    found = next((one for one in briefing.files.every() if one.name == name), None)
    if found is None:
        raise BadArguments(f"there is no {name} in the workspace; {', '.join(FILES)} count")
    return found
