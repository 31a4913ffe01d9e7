"""`barnacle skills list | show | approve | revoke`: which skills count as the owner's words."""

from argparse import Namespace

from agent.cli import configuration, exits
from agent.cli.memory_text import say_rows
from agent.cli.output import say, say_json
from agent.errors import BadArguments
from agent.text.printable import spelled_out
from agent.tools.skill_folder import Skill
from agent.tools.skills import Skills, skills_of

# Enough of a hash that no other text of anybody has it too
_LEAST_DIGITS = 24


def run(arguments: Namespace) -> int:
    _, paths = configuration.load(arguments)
    skills = skills_of(paths.workspace, paths.state_dir)
    if arguments.action == "list":
        _list(skills, as_json=arguments.json)
    elif arguments.action == "show":
        _show(_found(skills, arguments.name))
    elif arguments.action == "approve":
        _approve(skills, _found(skills, arguments.name), arguments.hash)
    else:
        was_there = skills.approvals.revoke(arguments.name)
        said = "revoked" if was_there else "was not approved"
        say(f"{arguments.name} {said}; its text is trusted like any other file")
    return exits.OK


def _list(skills: Skills, *, as_json: bool) -> None:
    rows = [(one.name, _state(skills, one), one.description) for one in skills.every()]
    if as_json:
        names = ("name", "state", "description")
        say_json([dict(zip(names, row, strict=True)) for row in rows])
    elif rows:
        say_rows(rows)
    else:
        say(f"no skills: put a folder with a SKILL.md into {skills.places[-1]}")


def _state(skills: Skills, skill: Skill) -> str:
    if skill.trouble:
        return f"refused: {skill.trouble}"
    if skills.is_approved(skill):
        return "approved"
    return "changed" if skill.name in skills.approvals.every() else "not approved"


def _show(skill: Skill) -> None:
    """Print every character of the skill, so that nobody approves unseen text."""
    for path, text in skill.files.items():
        say(f"== {path}")
        for line in text.splitlines():
            say(spelled_out(line))
    say(f"== to approve exactly this: barnacle skills approve {skill.name} {_short(skill)}")


def _approve(skills: Skills, skill: Skill, digest: str) -> None:
    if len(digest) < _LEAST_DIGITS or not skill.digest.startswith(digest):
        raise BadArguments(
            f"this hash does not match {skill.name}: `barnacle skills show {skill.name}` "
            "shows the skill and its present hash"
        )
    skills.approvals.add(skill)
    say(f"{skill.name} approved in its present form; after a change it needs a new approval")


def _found(skills: Skills, name: str) -> Skill:
    skill = skills.find(name)
    if skill is None:
        raise BadArguments(f"no skill named {name}: `barnacle skills list` shows the names")
    if skill.trouble:
        raise BadArguments(f"{skill.name} refused: {skill.trouble}")
    return skill


def _short(skill: Skill) -> str:
    return skill.digest[:_LEAST_DIGITS]
