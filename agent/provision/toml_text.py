"""TOML text of a table that was read or asked for."""

from collections.abc import Mapping

Table = dict[str, object]


def dumps(table: Mapping[str, object]) -> str:
    """Return the whole text, which `tomllib` reads back as the same table."""
    import tomli_w  # noqa: PLC0415 - a start writes no TOML

    return tomli_w.dumps(table)
