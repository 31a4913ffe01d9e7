import ssl

import pytest

from agent.net.tls import tls_context


def test_certificates_and_names_are_checked() -> None:
    context = tls_context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_some_authorities_are_trusted() -> None:
    paths = ssl.get_default_verify_paths()
    assert tls_context().cert_store_stats()["x509_ca"] > 0 or paths.capath


def test_without_a_system_store_certifi_is_trusted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    nothing = ssl.DefaultVerifyPaths(None, str(tmp_path), "", "", "", "")
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: nothing)
    assert tls_context.__wrapped__().cert_store_stats()["x509_ca"] > 50


def test_it_is_made_once() -> None:
    assert tls_context() is tls_context()
