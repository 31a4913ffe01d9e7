import re
from pathlib import Path

import pytest

from agent.config import decode
from agent.console.guards import is_own_host
from agent.errors import ConfigRefused
from agent.gateway.hosts import called
from agent.gateway.settings import GatewaySettings
from agent.settings import Settings
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


@pytest.mark.parametrize("section", ["gateway", "console"])
@pytest.mark.parametrize(
    "listed",
    ["a:b:c", "house:", "house:port", "[house]", "fd00::1::2", "a..b", ".", "[fd00::1", "-a"],
)
def test_a_host_that_nobody_can_name_is_refused_with_its_place(section: str, listed: str) -> None:
    text = f'[{section}]\nhosts = ["barnacle.local", "{listed}"]\n'
    with pytest.raises(ConfigRefused, match=rf"{section}.*{re.escape(listed)} is no host"):
        decode(text, Settings, Path("barnacle.toml"))


@pytest.mark.parametrize("listed", ["barnacle", "my_pi.local.", "x--y.example:80", "10.0.0.1:8475"])
def test_a_host_that_can_be_named_is_taken(listed: str) -> None:
    text = f'[gateway]\nhosts = ["{listed}", "::1", "[fd00::1]:8475"]\n'
    assert decode(text, Settings, Path("barnacle.toml")).gateway


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
