"""Reading a TOML file into typed sections; every refusal names file, key and remedy.

Each part owns its section as a small `Section` in its own `settings.py`;
`agent/settings.py` composes them. Nothing here knows any key.
"""

import msgspec


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the configuration file: frozen, no unknown keys, every key with a default."""
