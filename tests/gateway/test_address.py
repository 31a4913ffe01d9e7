import secrets
from pathlib import Path

import pytest

from agent.config import decode
from agent.errors import ConfigRefused
from agent.gateway.address import HEX_CHARS, gateway_address, tcp_socket, weakness_of
from agent.gateway.settings import GatewaySettings
from agent.settings import Settings
from tests.fakes.gateway import TOKEN


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("", "0 characters"),
        (TOKEN[: HEX_CHARS - 1], "63 characters, and 64"),
        ("NiQ1RDqjFwCiIp8ko9CnsqHaKjZtxiBHTH_QE-PAC_", "42 characters, and 43"),
        ("0123456789" * 7, "repeats itself"),
        ("0123456789abcdef" * 4, "repeats itself"),
        ("a1b2c3d4e5" * 7, "repeats itself"),
        ("deadbeef" * 8, "5 different"),
        ("password" * 8, "7 different"),
        ("a" * 64, "1 different"),
        ("correct horse battery staple correct horse!!", "14 different"),
        (TOKEN[:16] * 4, "repeats itself"),
        ("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG", "as on a keyboard"),
        ("qwertyuiopasdfghjklzxcvbnm1234567890QWERTYUIOP", "as on a keyboard"),
        ("00112233445566778899aabbccddeeffffeeddccbbaa99887766554433221100", "as on a keyboard"),
    ],
)
def test_what_somebody_thought_up_is_weak(token: str, why: str) -> None:
    assert why in weakness_of(token)


def test_random_bytes_are_strong_however_they_are_written() -> None:
    for _ in range(2000):
        for token in (
            secrets.token_hex(32),
            secrets.token_urlsafe(32),
            secrets.token_hex(32).upper(),
        ):
            assert weakness_of(token) == ""


def test_the_refusal_says_what_is_wrong_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigRefused) as refused:
        gateway_address(GatewaySettings(), tmp_path, "0123456789" * 7)
    assert str(refused.value) == (
        "gateway.token is not random: it repeats itself. Make one with `openssl rand -hex 32`"
    )


@pytest.mark.parametrize("proxy", ["192.168.1", "10.0.0.256", "fd00::1::2", "cafe"])
def test_a_proxy_that_is_no_address_is_named(tmp_path: Path, proxy: str) -> None:
    wanted = GatewaySettings(trusted_proxies=("192.168.1.7", "unix", "fd00::7", proxy))
    with pytest.raises(ConfigRefused, match=f"trusted_proxies has '{proxy}', which is no address"):
        gateway_address(wanted, tmp_path, TOKEN)


@pytest.mark.parametrize("address", ["192.0.2.7", "2001:db8::7"])
def test_an_address_that_the_network_has_yet_to_give_is_listened_at(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    # As at a start after a power cut, before the router answers (RFC 5737, RFC 3849)
    with tcp_socket(address, 0) as listening:
        assert listening.getsockname()[0] == address
    assert f"address={address}" in caplog.text


@pytest.mark.parametrize(
    "listen",
    ["localhost:8475", "127.0.0.1", "0.0.0.0:99999", "::1:8475", "300.1.1.1:80", "socket", "[::1]"],
)
def test_a_mistyped_place_is_said_when_the_file_is_read(listen: str) -> None:
    """Otherwise `barnacle check` and the settings page take it, and the next start ends there."""
    with pytest.raises(ConfigRefused) as refused:
        decode(f'[gateway]\nlisten = "{listen}"\n', Settings, Path("barnacle.toml"))
    assert "gateway.listen" in str(refused.value)
    assert "such as 127.0.0.1:8475, unix, or the path of a socket" in str(refused.value)


@pytest.mark.parametrize(
    "listen", ["127.0.0.1:0", "[::1]:8475", "0.0.0.0:8475", "unix", "/run/barnacle/gateway.sock"]
)
def test_a_place_that_can_be_is_taken(listen: str) -> None:
    told = decode(f'[gateway]\nlisten = "{listen}"\n', Settings, Path("barnacle.toml"))
    assert told.gateway is not None
    assert told.gateway.listen == listen
