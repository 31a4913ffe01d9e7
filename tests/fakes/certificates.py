"""A certificate of its own for a server of the tests, which this process trusts for a while."""

import contextlib
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.net.tls import tls_context


@contextlib.contextmanager
def trusted(folder: Path, name: str) -> Iterator[ssl.SSLContext]:
    """The server's side, for a name such as `DNS:weather.lan` or `IP:127.0.0.1`."""
    key, certificate = made(folder, name)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SSL_CERT_FILE", str(certificate))
        # What is trusted is read once
        tls_context.cache_clear()
        try:
            yield context
        finally:
            tls_context.cache_clear()


def made(folder: Path, name: str) -> tuple[Path, Path]:
    """Return the files of a new key and of its certificate, which is its own authority."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", f"/CN={name.partition(':')[2]}"),
            *("-addext", f"subjectAltName={name}"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return key, certificate
