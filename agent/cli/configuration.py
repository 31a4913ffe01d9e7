"""Settings and paths of one command line; for root those of the machine's service."""

import os
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from agent import settings
from agent.cli import service
from agent.errors import ConfigRefused
from agent.settings import Paths, Settings

# Options that name a file or a folder of whoever runs the command
_FILES = ("file", "output", "folder", "image")


def load(arguments: Namespace) -> tuple[Settings, Paths]:
    """Return the settings and paths that options and environment choose.

    Root means the machine's service, and goes on as its user, unless files are named: those may be
    root's alone.

    Raises:
        ConfigRefused: the file is wrong; one line for each thing.
    """
    if any(getattr(arguments, name, None) for name in _FILES):
        return load_as_root(arguments)
    return _loaded(arguments, service.become_owner)


def load_as_root(arguments: Namespace) -> tuple[Settings, Paths]:
    """As `load`, for what root alone may do; the service gets its files back at the end."""
    return _loaded(arguments, service.give_back_at_end)


def load_to_stop(arguments: Namespace) -> tuple[Settings, Paths, ConfigRefused | None]:
    """As `load`, and a file with mistakes holds up nothing: return the defaults, and why.

    Raises:
        ConfigRefused: the file is another's, and the agent that is meant with it.
    """
    try:
        return (*load(arguments), None)
    except ConfigRefused as err:
        if service.closed_to(os.environ, arguments):
            raise
        refused = err
    state = getattr(arguments, "state_dir", None)
    paths = settings.find_paths(os.environ, Settings(), None, state)
    if _is_of_service(arguments):
        service.become_owner(paths.state_dir)
    return Settings(), paths, refused


def _is_of_service(arguments: Namespace) -> bool:
    try:
        return service.adopt(os.environ, arguments)
    except ConfigRefused:
        # Of the service alone a key is looked for
        return True


def _loaded(arguments: Namespace, go_on: Callable[[Path], None]) -> tuple[Settings, Paths]:
    """Load, and go on as is meant for the service's folder where the command is about it."""
    is_service = service.adopt(os.environ, arguments)
    settings, paths = load_own(arguments)
    if is_service:
        go_on(paths.state_dir)
    else:
        service.tell_where(arguments, paths.state_dir)
    return settings, paths


def load_own(arguments: Namespace) -> tuple[Settings, Paths]:
    """As `load`, and root is a person like others, or has adopted the service before."""
    try:
        # The options are absent from the namespace unless they were given
        return settings.surroundings(
            os.environ, getattr(arguments, "config", None), getattr(arguments, "state_dir", None)
        )
    except ConfigRefused as err:
        if told := service.closed_to(os.environ, arguments):
            raise ConfigRefused(told) from err
        raise
