"""Secrets of platforms: from the table, a file, the environment, or systemd."""

import contextlib
from collections.abc import Mapping
from pathlib import Path

from agent.config import Secret, expanded
from agent.errors import ConfigRefused

# Longer than any secret that a platform gives
MAX_SECRET_BYTES = 4096
# Where systemd puts the credentials of a service, and what its names begin with there
_CREDENTIALS = "CREDENTIALS_DIRECTORY"
OURS = "barnacle."


def find_secret(name: str, given: Secret, file: str, environ: Mapping[str, str]) -> Secret:
    """Return the secret; empty if there is none.

    Args:
        name: of the credential `barnacle.telegram_token`, and of `BARNACLE_TELEGRAM_TOKEN`, is
            `telegram_token`.
        given: in the table itself.
        file: that the table names.

    Raises:
        ConfigRefused: it cannot be read.
    """
    if given:
        return given
    if file:
        return _read_named(expanded(file, environ), name)
    variable = variable_of(name)
    if told := environ.get(variable, ""):
        return one_line(told, variable)
    return find_credential(name, environ)


def find_credential(name: str, environ: Mapping[str, str]) -> Secret:
    """Return systemd's credential of this name, or of `barnacle.` and it; empty if none.

    Raises:
        ConfigRefused: it cannot be read.
    """
    if folder := environ.get(_CREDENTIALS):
        # A drop-in may give it any name; the unit's own goes first
        for path in (Path(folder) / f"{OURS}{name}", Path(folder) / name):
            with contextlib.suppress(FileNotFoundError):
                return _read(path)
    return Secret()


def variable_of(name: str) -> str:
    """Return the environment variable that may hold the secret."""
    return f"BARNACLE_{name.upper()}"


def one_line(text: str, source: str) -> Secret:
    """Return `text` without surrounding spaces.

    Raises:
        ConfigRefused: it is no one line, and `source` is said.
    """
    try:
        return Secret(text.strip())
    except ValueError as err:
        raise ConfigRefused(f"{source} must hold one line") from err


def _read_named(path: Path, name: str) -> Secret:
    try:
        return _read(path)
    except FileNotFoundError as err:
        raise ConfigRefused(
            f"cannot read {path} ({err.strerror}): it should hold {name} as its one line"
        ) from err


def _read(path: Path) -> Secret:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SECRET_BYTES)
    except FileNotFoundError:
        raise
    except OSError as err:
        raise ConfigRefused(f"cannot read {path}: {err.strerror}") from err
    return one_line(content.decode("utf-8", "replace"), str(path))
