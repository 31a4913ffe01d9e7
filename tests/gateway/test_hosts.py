from pathlib import Path

import pytest

from agent.console.guards import is_own_host
from agent.gateway.hosts import called
from agent.gateway.settings import GatewaySettings
from tests.fakes.gateway import listening


@pytest.mark.parametrize(
    ("listed", "host"),
    [
        ("Greenhouse.local", "greenhouse.local"),
        ("greenhouse.local:8475", "greenhouse.local"),
        ("greenhouse.local.", "greenhouse.local"),
        ("192.168.1.7:8475", "192.168.1.7"),
        ("fd00:0:0::1", "[fd00::1]"),
        ("[FD00::1]", "[fd00::1]"),
        ("[fd00::1]:8475", "[fd00::1]"),
        ("a:b:c", "a:b:c"),
    ],
)
def test_a_host_has_one_spelling(listed: str, host: str) -> None:
    assert called(listed) == host


@pytest.mark.parametrize("listed", ["greenhouse.local:8475", "fd00:0::1", "Greenhouse.local."])
async def test_the_gateway_is_called_as_its_owner_wrote_it(tmp_path: Path, listed: str) -> None:
    wanted = GatewaySettings(listen="127.0.0.1:0", hosts=(listed,))
    host = called(listed)
    async with listening(tmp_path, wanted) as gateway:
        for asked in (host, f"{host}:{gateway.port}", host.upper()):
            assert (await gateway.ask("GET", "/health", host=asked)).status == 200
        for asked in (f"{host}.evil.example", f"{host}:evil", f"evil.{host}", ""):
            assert (await gateway.ask("GET", "/health", host=asked)).status in {400, 421}


def test_the_console_is_called_as_its_owner_wrote_it() -> None:
    assert is_own_host("greenhouse.local:8476", {called("Greenhouse.local:8476")})
    assert not is_own_host("greenhouse.local.evil.example", {called("greenhouse.local:8476")})
