"""Catalog of platforms, and those that are configured; only their code is loaded."""

from collections.abc import Iterator
from importlib import import_module
from typing import cast

import msgspec

from agent.channels.settings import ChannelsSettings
from agent.platforms.base import Platform

# Tables beside the platforms' own
_SHARED = frozenset({"speech"})
# Names of tables, as they stand in the settings
NAMES = tuple(
    field.name for field in msgspec.structs.fields(ChannelsSettings) if field.name not in _SHARED
)


def platform(name: str) -> Platform:
    """The platform whose table has this name, one of `NAMES`."""
    module = import_module(f"agent.platforms.{name}")
    return cast("Platform", module.PLATFORM)


def configured(channels: ChannelsSettings) -> Iterator[Platform]:
    """Those with a table in the configuration."""
    return (platform(name) for name in NAMES if getattr(channels, name) is not None)
