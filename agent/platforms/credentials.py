"""Where the secret of a platform comes from: its table, a file, the environment, or systemd."""

from collections.abc import Mapping
from pathlib import Path

from agent.config import Secret
from agent.errors import ConfigRefused
from agent.settings import expanded

# Longer than any secret that a platform gives
MAX_SECRET_BYTES = 4096
# Where systemd puts what `LoadCredential=` names
_CREDENTIALS = "CREDENTIALS_DIRECTORY"


def find_secret(name: str, given: Secret, file: str, environ: Mapping[str, str]) -> Secret:
    """The secret, empty where there is none.

    Args:
        name: of the credential, such as `telegram_token`, and of `BARNACLE_TELEGRAM_TOKEN`.
        given: in the table itself.
        file: that the table names.

    Raises:
        ConfigRefused: it cannot be read.
    """
    if given:
        return given
    if file:
        return _read(expanded(file, environ))
    variable = f"BARNACLE_{name.upper()}"
    if told := environ.get(variable, ""):
        return one_line(told, variable)
    folder = environ.get(_CREDENTIALS)
    path = Path(folder) / name if folder else None
    return _read(path) if path is not None and path.exists() else Secret()


def one_line(text: str, source: str) -> Secret:
    """`text` without what surrounds it.

    Raises:
        ConfigRefused: it is no one line, and `source` is said.
    """
    try:
        return Secret(text.strip())
    except ValueError as err:
        raise ConfigRefused(f"{source} must hold one line") from err


def _read(path: Path) -> Secret:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SECRET_BYTES)
    except OSError as err:
        raise ConfigRefused(f"{path} cannot be read: {err.strerror}") from err
    return one_line(content.decode("utf-8", "replace"), str(path))
