"""Settings and paths of one command line."""

import os
from argparse import Namespace
from collections.abc import MutableMapping

from agent import settings
from agent.channels.credentials import find_credential
from agent.providers.credentials import KEY_VARIABLES
from agent.settings import Paths, Settings

# What the credential of a model's key is called
_KEY = "api_key"


def load(arguments: Namespace) -> tuple[Settings, Paths]:
    """Return the settings and paths that options and environment choose.

    Raises:
        ConfigRefused: the file is wrong; one line for each thing.
    """
    # The options are absent from the namespace unless they were given
    return settings.surroundings(
        os.environ, getattr(arguments, "config", None), getattr(arguments, "state_dir", None)
    )


def take_key(environ: MutableMapping[str, str]) -> None:
    """Put a model's key from systemd's credentials into the environment.

    Raises:
        ConfigRefused: it is there and cannot be read.
    """
    if key := find_credential(_KEY, environ):
        environ.setdefault(KEY_VARIABLES[0], key.reveal())
