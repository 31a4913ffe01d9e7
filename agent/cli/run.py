"""`barnacle run`: every configured channel, until it is stopped."""

import os
from argparse import Namespace
from collections.abc import MutableMapping
from pathlib import Path

from agent import serving
from agent.cli import surroundings
from agent.cli.loop import run_in_loop
from agent.errors import ConfigRefused
from agent.providers.credentials import KEY_VARIABLES

# Far more than any key has
MAX_KEY_BYTES = 8192


def run(arguments: Namespace) -> int:
    take_key(os.environ)
    settings, paths = surroundings.of(arguments)
    return run_in_loop(serving.run(settings, paths))


def take_key(environ: MutableMapping[str, str]) -> None:
    """A model's key that systemd hands over counts like one of the environment.

    Raises:
        ConfigRefused: it is there and cannot be read.
    """
    path = Path(environ.get("CREDENTIALS_DIRECTORY", "/nonexistent")) / "api_key"
    try:
        with path.open("rb") as file:
            key = file.read(MAX_KEY_BYTES).decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return
    except OSError as err:
        raise ConfigRefused(f"{path} cannot be read: {err.strerror}") from err
    environ.setdefault(KEY_VARIABLES[0], key)
