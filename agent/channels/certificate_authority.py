"""Trust in a server of one's own: the key `ca_file` of a platform's table."""

import ssl
from collections.abc import Mapping

from agent.config import expanded
from agent.errors import ConfigRefused
from agent.net.tls import tls_context


def trust(platform: str, ca_file: str, environ: Mapping[str, str]) -> ssl.SSLContext:
    """Return the context that trusts the authority in the file, or the system's ones without one.

    Raises:
        ConfigRefused: the file cannot be used.
    """
    if not ca_file:
        return tls_context()
    path = expanded(ca_file, environ)
    try:
        context = ssl.create_default_context(cafile=path)
    except OSError as err:
        said = err.strerror or "it holds no certificate"
        raise ConfigRefused(f"cannot use channels.{platform}.ca_file {path}: {said}") from err
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
