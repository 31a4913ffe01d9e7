"""Catalog of platforms; only configured ones are loaded."""

from collections.abc import Iterator
from importlib import import_module
from typing import cast

import msgspec

from agent.channels.platform import Platform
from agent.channels.settings import ChannelsSettings

# Tables beside the platforms' own
_SHARED = frozenset({"speech"})
# Names of tables, as they stand in the settings
NAMES = tuple(
    field.name for field in msgspec.structs.fields(ChannelsSettings) if field.name not in _SHARED
)


def platform(name: str) -> Platform:
    """Return the platform with this table, one of `NAMES`."""
    module = import_module(f"agent.channels.{name}.channel")
    return cast("Platform", module.PLATFORM)


def configured(channels: ChannelsSettings) -> Iterator[Platform]:
    """Yield the platforms with a table in the configuration."""
    return (platform(name) for name in NAMES if getattr(channels, name) is not None)
