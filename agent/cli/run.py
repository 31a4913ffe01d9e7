"""`barnacle run`: every configured channel, until it is stopped."""

import os
import resource
from argparse import Namespace
from collections.abc import MutableMapping

from agent.app import run as app_run
from agent.channels.credentials import find_credential
from agent.cli import configuration
from agent.cli.loop import run_in_loop
from agent.providers.credentials import KEY_VARIABLES

# What the credential of a model's key is called
_KEY = "api_key"


def run(arguments: Namespace) -> int:
    take_key(os.environ)
    # Also where no unit says so: keys and conversations would lie in it, whoever starts what
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    settings, paths = configuration.load(arguments)
    return run_in_loop(app_run.run(settings, paths))


def take_key(environ: MutableMapping[str, str]) -> None:
    """Put a model's key from systemd's credentials into the environment.

    Raises:
        ConfigRefused: it is there and cannot be read.
    """
    if key := find_credential(_KEY, environ):
        environ.setdefault(KEY_VARIABLES[0], key.reveal())
