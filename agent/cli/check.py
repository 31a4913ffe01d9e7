"""`barnacle check`: what the agent would say of a configuration, without starting it."""

import os
import tomllib
from argparse import Namespace
from pathlib import Path

from agent.cli import exits
from agent.cli.output import say, say_json
from agent.config import expanded, keys, load
from agent.errors import ConfigRefused
from agent.peripherals.enable import missing_library
from agent.settings import SYSTEM_CONFIG, Settings, enable_gpios, find_config

_EXAMPLE = Path(__file__).with_name("example.toml")


def run(arguments: Namespace) -> int:
    if arguments.example:
        print(_EXAMPLE.read_text(encoding="utf-8"), end="")
        return exits.OK
    path = _chosen(arguments)
    if path is None:
        return _nothing_to_check(arguments)
    try:
        settings = load(path, Settings)
        _require_devices(settings)
        _require_programs(settings)
    except ConfigRefused as err:
        if not arguments.json:
            raise
        say_json({"ok": False, "file": str(path), "problems": str(err).splitlines()})
        return exits.USAGE
    keys_set = _count(tomllib.loads(path.read_text(encoding="utf-8-sig")))
    if arguments.json:
        say_json({"ok": True, "file": str(path), "keys_set": keys_set})
    else:
        known = len(list(keys(Settings)))
        say(f"ok: {path} sets {keys_set} of {known} keys")
    return exits.OK


def _require_devices(settings: Settings) -> None:
    """Check the devices that the file names, as far as visible without touching them."""
    if enable_gpios(settings) and (trouble := missing_library()):
        raise ConfigRefused(trouble)


def _require_programs(settings: Settings) -> None:
    """Check that the programs that answer as a model are here; none is started."""
    sections = {f"providers.{name}": one for name, one in settings.providers.items()}
    declared = {
        where: one.program
        for where, one in ({"provider": settings.provider} | sections).items()
        if one.program is not None
    }
    if not declared:
        return
    from agent.providers.program.isolation import missing  # noqa: PLC0415 - few declare a program

    troubles = [
        f"{where}.program: {trouble}"
        for where, one in declared.items()
        if (trouble := missing(one))
    ]
    if troubles:
        raise ConfigRefused("\n".join(troubles))


def _chosen(arguments: Namespace) -> Path | None:
    named = arguments.file or getattr(arguments, "config", None)
    return expanded(named, os.environ) if named else find_config(os.environ)


def _nothing_to_check(arguments: Namespace) -> int:
    if arguments.json:
        say_json({"ok": True, "file": None, "keys_set": 0})
    else:
        say(
            "ok: no configuration file, every key has its default (looked for "
            f"~/.config/barnacle/barnacle.toml and {SYSTEM_CONFIG})"
        )
    return exits.OK


def _count(table: dict[str, object]) -> int:
    return sum(_count(value) if isinstance(value, dict) else 1 for value in table.values())
