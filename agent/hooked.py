"""The owner's hooks, loaded by their names: `package.module:Class`."""

import importlib
from collections.abc import Sequence

from agent.dispatch.hooks import Hook, Hooks
from agent.errors import ConfigRefused


def open_hooks(names: Sequence[str]) -> Hooks:
    """All of them, made in their order.

    Raises:
        ConfigRefused: one is not there or is none; a guard that is missing guards nothing.
    """
    return Hooks([_made(name) for name in names])


def _made(name: str) -> Hook:
    module, _, attribute = name.partition(":")
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as err:
        raise ConfigRefused(f"`hooks.modules`: {name} cannot be loaded: {err}") from err
    if not (isinstance(kind, type) and issubclass(kind, Hook)):
        raise ConfigRefused(f"`hooks.modules`: {name} is no agent.dispatch.hooks.Hook")
    try:
        return kind()
    # Code that is not ours: a sentence instead of a traceback
    except Exception as err:
        raise ConfigRefused(f"`hooks.modules`: {name} broke as it was made: {err}") from err
