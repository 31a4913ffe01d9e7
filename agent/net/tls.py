"""Trust of connections to other machines, made once: it takes time and memory."""

import ssl
from functools import cache
from pathlib import Path


@cache
def tls_context() -> ssl.SSLContext:
    """Trusts what the system trusts, kept current by its updates; without a store, certifi."""
    paths = ssl.get_default_verify_paths()
    cafile = None
    if not paths.cafile and not _holds_files(paths.capath):
        import certifi  # noqa: PLC0415 - rarely needed

        cafile = certifi.where()
    context = ssl.create_default_context(cafile=cafile)
    # Python leaves this to the distribution, and distributions differ
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


@cache
def unchecked_context() -> ssl.SSLContext:
    """Encrypts and trusts anybody: only for a server of this machine, where nobody is between."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _holds_files(folder: str | None) -> bool:
    return bool(folder) and any(Path(str(folder)).iterdir())
