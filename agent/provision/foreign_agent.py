"""A folder of ZeroClaw, OpenClaw or nanobot, read into what this agent has a counterpart for.

Reading changes nothing. What is read was written by others: it is judged again where it is taken,
and what has no counterpart is named with a reason.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from agent.memory import openclaw as notes
from agent.provision.foreign_jobs import (
    ForeignJob,
    Left,
    NoAgent,
    listed_jobs,
    openclaw_jobs,
    table_in,
    text_of,
    zeroclaw_jobs,
)
from agent.provision.foreign_model import VARIABLE, AskedModel, provider_table, readable
from agent.provision.json5 import json5_of
from agent.provision.openclaw_agents import settings_of_account, settings_of_agent
from agent.turn.prompt_files import FILES as PROMPT_FILES

_NANOBOT_PLACE = (("apiKey", "api_key"), ("apiBase", "api_base"))
# Of our channels, each key by what the others call it
_CHANNELS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "telegram": {"token": ("bot_token", "botToken", "token")},
    "discord": {"token": ("bot_token", "botToken", "token")},
    "slack": {"token": ("bot_token", "botToken"), "app_token": ("app_token", "appToken")},
    "mattermost": {
        "base_url": ("url", "base_url", "baseUrl"),
        "token": ("bot_token", "botToken", "token"),
    },
    "signal": {"base_url": ("http_url", "httpUrl"), "account": ("account",)},
    "matrix": {
        "base_url": ("homeserver",),
        "user": ("user_id", "userId"),
        "token": ("access_token", "accessToken"),
    },
}
# Of a channel, who may write: a list that is nobody's proof
_PEOPLE = ("allowed_users", "allowFrom", "allow_from", "allowed_numbers")
# Settings beside a channel's own
_NO_CHANNELS = {"cli", "defaults", "message_timeout_secs", "ack_reactions", "modelByChannel"}
# Files that have no counterpart, and what to do with them
_OTHER_FILES = {
    "HEARTBEAT.md": "it is done by itself at times: read it, then copy it into the workspace",
    "TOOLS.md": "this agent describes its tools itself",
    "BOOTSTRAP.md": "it is for a first start",
    "BOOT.md": "it is for a start",
}
# As many as fit into a line
_SHOWN_NOTES = 3
_SKILL = "SKILL.md"
# ZeroClaw's memories, in its data folder or its workspace
_ZEROCLAW_STORES = ("memory/brain.db", "MEMORY_SNAPSHOT.md")
_SKILL_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class ForeignAgent(Struct, frozen=True):
    """Another agent as it lies in its folder.

    Args:
        provider: our table of the model service, its key included.
        channels: our tables of the chat platforms.
        memories: a file or folder that `barnacle memory import` knows; None without one.
    """

    name: str
    workspace: Path
    provider: dict[str, Any] = {}
    channels: dict[str, dict[str, Any]] = {}
    memories: Path | None = None
    jobs: tuple[ForeignJob, ...] = ()
    prompt_files: tuple[Path, ...] = ()
    skills: tuple[Path, ...] = ()
    left: tuple[Left, ...] = ()


def read_agent(folder: Path) -> ForeignAgent:
    """Return what the folder holds.

    Raises:
        NoAgent: it is of no agent that is known.
        OSError: it cannot be read.
    """
    for name, read in (("config.toml", _zeroclaw), ("openclaw.json", _openclaw)):
        if (path := folder / name).is_file():
            return read(folder, path)
    if (path := folder / "config.json").is_file():
        return _nanobot(folder, path)
    raise NoAgent(
        f"{folder} has no config.toml (ZeroClaw), openclaw.json (OpenClaw) or config.json (nanobot)"
    )


def _zeroclaw(folder: Path, path: Path) -> ForeignAgent:
    try:
        config = tomllib.loads(text_of(path))
    except tomllib.TOMLDecodeError as err:
        raise NoAgent(f"{path}: {err}") from err
    left: list[Left] = []
    workspace = _zeroclaw_workspace(folder, left)
    kind, told = _zeroclaw_model(config, workspace.parent.name)
    url = str(told.get("api_url") or told.get("uri") or "")
    asked = AskedModel(kind, str(told.get("model") or ""), url)
    provider = provider_table(asked, told.get("api_key"), left)
    tables = table_in(config, "channels_config") or table_in(config, "channels")
    channels = _channels({name: _unnamed(table) for name, table in tables.items()}, left)
    known = {"default_provider", "default_model", "api_key", "api_url", "channels_config"}
    left += _settings_left(config, known | {"channels", "workspace_dir", "config_path", "memory"})
    # Since its version 0.8 all agents of an installation share them
    places = (folder / "data", workspace)
    jobs = tuple(job for place in places for job in zeroclaw_jobs(place / "cron/jobs.db", left))
    stores = [place / name for name in _ZEROCLAW_STORES for place in places]
    memories = next((one for one in stores if one.is_file()), _notes(workspace))
    found = ForeignAgent("ZeroClaw", workspace, provider, channels, memories, jobs)
    return _gathered(found, left)


def _zeroclaw_workspace(folder: Path, left: list[Left]) -> Path:
    """Return the workspace: the one of before, else that of the one agent or of the usual one."""
    usual = folder / "workspace"
    of_agents = [] if usual.is_dir() else sorted((folder / "agents").glob("*/workspace"))
    if not of_agents:
        return usual
    chosen = min(of_agents, key=lambda one: one.parent.name != "default")
    left += [
        Left(f"agent {one.parent.name}", "there is one agent here: its memories alone are taken")
        for one in of_agents
        if one != chosen
    ]
    return chosen


def _zeroclaw_model(config: Mapping[str, Any], agent: str) -> tuple[str, Mapping[str, Any]]:
    """Return the service and the table that has its model, key and address."""
    services = table_in(table_in(config, "providers"), "models")
    agents = table_in(config, "agents")
    own_name = agent if agent in agents else next(iter(agents), "")
    named = str(table_in(agents, own_name).get("model_provider") or "")
    kind, _, alias = named.partition(".")
    if own := table_in(table_in(services, kind), alias):
        return kind, own
    told = {**config, "model": config.get("default_model")}
    return str(config.get("default_provider", "")), told


def _unnamed(table: object) -> object:
    """Return the settings of a channel, which later versions keep by the name of an account."""
    if (
        not isinstance(table, dict)
        or not table
        or not all(isinstance(one, dict) for one in table.values())
    ):
        return table
    return table.get("default") or next(iter(table.values()))


def _openclaw(folder: Path, path: Path) -> ForeignAgent:
    config = json5_of(path)
    left: list[Left] = []
    agents = settings_of_agent(config, left)
    model = agents.get("model", "")
    named = str(model.get("primary", "") if isinstance(model, dict) else model)
    kind, _, model_name = named.partition("/")
    own = table_in(table_in(table_in(config, "models"), "providers"), kind)
    variables = table_in(config, "env") | table_in(table_in(config, "env"), "vars")
    key = own.get("apiKey") or variables.get(f"{kind.upper()}_API_KEY")
    if isinstance(key, str) and (named_one := VARIABLE.fullmatch(key)):
        key = variables.get(named_one[1], key)
    asked = AskedModel(kind, model_name, str(own.get("baseUrl") or ""), str(own.get("api") or ""))
    provider = provider_table(asked, key, left)
    tables = table_in(config, "channels")
    accounts = {name: settings_of_account(name, table, left) for name, table in tables.items()}
    channels = _channels(accounts, left)
    known = {"agents", "agent", "models", "env", "channels", "meta", "wizard", "$schema"}
    left += _settings_left(config, known)
    workspace = _workspace(folder, str(agents.get("workspace") or ""), left)
    jobs = tuple(openclaw_jobs(folder, left))
    found = ForeignAgent("OpenClaw", workspace, provider, channels, _notes(workspace), jobs)
    return _gathered(found, left)


def _nanobot(folder: Path, path: Path) -> ForeignAgent:
    config = json5_of(path)
    left: list[Left] = []
    defaults = table_in(table_in(config, "agents"), "defaults")
    kind, model, own = _nanobot_model(config, defaults)
    # It takes both ways of writing a name
    key, url = (_either(own, *names) for names in _NANOBOT_PLACE)
    provider = provider_table(AskedModel(kind, model, str(url or "")), key, left)
    channels = _channels(table_in(config, "channels"), left)
    left += _settings_left(config, {"agents", "providers", "channels"})
    workspace = _workspace(folder, str(defaults.get("workspace") or ""), left)
    store = next(
        (one for one in (workspace / "cron/jobs.json", folder / "cron/jobs.json") if one.is_file()),
        folder / "cron/jobs.json",
    )
    jobs = tuple(listed_jobs(store, left))
    found = ForeignAgent("nanobot", workspace, provider, channels, _notes(workspace), jobs)
    return _gathered(found, left)


def _nanobot_model(
    config: Mapping[str, Any], defaults: Mapping[str, Any]
) -> tuple[str, str, dict[str, Any]]:
    """Return the service, its model and the service's table, as nanobot would choose them."""
    presets = table_in(config, "modelPresets") or table_in(config, "model_presets")
    # A preset that is chosen goes before the model beside it, which is there in every file
    preset = table_in(presets, str(_either(defaults, "modelPreset", "model_preset")))
    chosen = preset or defaults
    whole = str(chosen.get("model") or "")
    maker, _, rest = whole.partition("/")
    services = {
        _plain(name): (name, table)
        for name, table in table_in(config, "providers").items()
        if isinstance(table, dict)
    }
    named = str(chosen.get("provider") or "auto")
    if named == "auto":
        has_key = [one for one in services.values() if _either(one[1], *_NANOBOT_PLACE[0])]
        own = services.get(_plain(maker), ("", {}))[1]
        if len(has_key) != 1 or any(_either(own, *names) for names in _NANOBOT_PLACE):
            return maker, rest, own
        # The maker has no key here, and one service has: it gets the whole name
        named = has_key[0][0]
    own = services.get(_plain(named), ("", {}))[1]
    # A model of another maker behind that service keeps its whole name
    model = rest if _plain(maker) == _plain(named) else whole
    return re.sub(r"_|(?<=[a-z])(?=[A-Z])", "-", named).lower(), model, own


def _either(table: Mapping[str, Any], name: str, other: str) -> Any:
    return table.get(name) or table.get(other)


def _plain(name: str) -> str:
    """Return a service's name however it is written: `lm_studio`, `lm-studio` and `lmStudio`."""
    return re.sub(r"[-_]", "", name).lower()


def _notes(workspace: Path) -> Path | None:
    """Return the workspace if it has memories in files: days alone are some, too."""
    return workspace if notes.files(workspace) else None


def _stores(found: ForeignAgent) -> list[Path]:
    """Return the files that the memories are read from."""
    if found.memories is None or found.memories.is_file():
        return [found.memories] if found.memories else []
    return notes.files(found.memories)


def _notes_left(found: ForeignAgent) -> Iterator[Left]:
    """Yield what the agent wrote down in files that are not read as memories."""
    workspace = found.workspace
    taken = _stores(found) if found.memories == workspace else []
    named = (workspace / name for name in (notes.LASTING, notes.LASTING.lower()))
    every = [*(one for one in named if one.is_file()), *(workspace / "memory").rglob("*.md")]
    # A disk that tells no case apart has one of them by two names
    if files := [one for one in every if not any(one.samefile(other) for other in taken)]:
        shown = ", ".join(str(one.relative_to(workspace)) for one in files[:_SHOWN_NOTES])
        more = f" and {len(files) - _SHOWN_NOTES} more" * (len(files) > _SHOWN_NOTES)
        yield Left(f"notes {shown}{more}", "`barnacle memory import FILE` takes one")


def _gathered(found: ForeignAgent, left: list[Left]) -> ForeignAgent:
    """Return the agent with the files of its workspace."""
    workspace = found.workspace
    if links := [one for one in _stores(found) if one.is_symlink()]:
        left.append(Left("memories", f"{links[0].name} is a link to another place"))
        found = replace(found, memories=None)
    left += [Left(file, why) for file, why in _OTHER_FILES.items() if (workspace / file).is_file()]
    left += _notes_left(found)
    skills: dict[str, Path] = {}
    # OpenClaw has some for all of its agents beside the workspaces; the agent's own go before
    places = (workspace / "skills", workspace.parent / "skills")
    for path in (path for place in places for path in sorted(place.glob(f"*/{_SKILL}"))):
        if _SKILL_NAME.fullmatch(path.parent.name):
            skills.setdefault(path.parent.name, path.parent)
        else:
            left.append(Left(f"skill {path.parent.name}", "its name is no plain word"))
    for sessions in ("sessions", "agents"):
        if (workspace.parent / sessions).is_dir() or (workspace / sessions).is_dir():
            left.append(Left(f"{sessions}/", "conversations: this agent begins its own"))
    files = []
    for path in (workspace / one for one in PROMPT_FILES):
        if path.is_symlink():
            left.append(Left(path.name, "it is a link to another place"))
        elif path.is_file():
            files.append(path)
    return replace(
        found, prompt_files=tuple(files), skills=tuple(skills.values()), left=tuple(left)
    )


def _channels(tables: Mapping[str, Any], left: list[Left]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, table in tables.items():
        if name in _NO_CHANNELS or not isinstance(table, dict):
            continue
        if not table.get("enabled", True):
            continue
        if name not in _CHANNELS:
            left.append(Left(f"channel {name}", "set it up by `barnacle setup`, where it is known"))
            continue
        found[name] = {}
        for key, names in _CHANNELS[name].items():
            told = next((table[one] for one in names if table.get(one)), "")
            if value := readable(told, f"channel {name}: {key}", left):
                found[name][key] = value
        if not found[name]:
            del found[name]
            left.append(Left(f"channel {name}", "it has no token that could be read"))
        if any(table.get(word) for word in _PEOPLE):
            left.append(Left(f"people of {name}", "each is let in by a code: `barnacle pair`"))
    return found


def _settings_left(config: Mapping[str, Any], taken: set[str]) -> Iterator[Left]:
    names = sorted(key for key, value in config.items() if key not in taken and value)
    if names:
        yield Left(f"settings {', '.join(names)}", "`barnacle check --example` has this agent's")


def _workspace(folder: Path, said: str, left: list[Left]) -> Path:
    """Return the workspace; one that the file puts elsewhere counts only below the folder."""
    usual = folder / "workspace"
    named = folder / (Path(said).name or usual.name)
    if named.is_dir():
        return named
    if said:
        left.append(Left(f"workspace {said}", f"it is not in this folder: copy it to {named}"))
    return usual
