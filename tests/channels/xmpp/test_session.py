import asyncio
import ssl

import pytest
from msgspec.structs import replace

from agent.channels.xmpp.connection import XmppConnection, connected
from agent.channels.xmpp.login import XmppLogin
from agent.config import Secret
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable
from tests.fakes import prosody, raw_server
from tests.fakes import relay as relays
from tests.fakes.prosody import HOST, PASSWORD

_STREAM = (
    "<?xml version='1.0'?><stream:stream xmlns='jabber:client' id='1' version='1.0' "
    "xmlns:stream='http://etherx.jabber.org/streams'>"
)


def login(port: int) -> XmppLogin:
    server = prosody.shared()
    context = ssl.create_default_context(cafile=server.certificate)
    address = server.account("barnacle")
    return XmppLogin(address, Secret(PASSWORD), context, "127.0.0.1", port)


async def said_by(words: str) -> str:
    """What a server that says this is taken for."""
    async with relays.running(prosody.shared().port) as relay:
        relay.answer_next((_STREAM + words).encode())
        with pytest.raises(ChannelError) as caught:
            async with connected(login(relay.port), lambda: None):
                pass
        return str(caught.value)


async def test_a_server_that_sends_us_elsewhere_is_not_followed() -> None:
    """Before TLS that could be anybody, and the password would go there."""
    async with relays.running(prosody.shared().port) as elsewhere:
        there = f"127.0.0.1:{elsewhere.port}"
        said = await said_by(
            "<stream:error><see-other-host xmlns='urn:ietf:params:xml:ns:xmpp-streams'>"
            f"{there}</see-other-host></stream:error>"
        )
        assert "see-other-host" in said
        assert not elsewhere._at_work


async def test_a_server_without_tls_is_told_no_password() -> None:
    said = await said_by(
        "<stream:features><mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'>"
        "<mechanism>PLAIN</mechanism></mechanisms></stream:features>"
    )
    assert "offers no login" in said


@pytest.mark.parametrize("words", ["", "HTTP/1.1 400 Bad Request", "<", "</stream:stream>"])
async def test_what_is_no_server_of_xmpp_is_said_to_be_away(words: str) -> None:
    assert "cannot be reached" in await said_by(words)


async def test_a_server_that_says_too_much_at_once_is_left() -> None:
    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((_STREAM + "<stream:features>").encode())
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()

    async with raw_server.serving(flood) as url:
        port = int(url.rpartition(":")[2])
        with pytest.raises(ChannelUnavailable, match="more at once"):
            async with connected(login(port), lambda: None):
                pass


async def test_a_certificate_for_another_name_is_refused() -> None:
    async def wait(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    folder = prosody.shared().folder
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    async with raw_server.serving(wait, context=context) as url:
        made = replace(login(int(url.rpartition(":")[2])), is_direct=True)
        other = replace(made, address=made.address.replace(HOST, "example.net"))
        with pytest.raises(ChannelRefused, match=r"not trusted for example\.net"):
            async with connected(other, lambda: None):
                pass


async def test_what_happens_in_the_block_ends_the_session() -> None:
    async def fail() -> None:
        async with connected(login(prosody.shared().port), lambda: None) as connection:
            await connection.ping()
            left.append(connection)
            raise ZeroDivisionError

    left: list[XmppConnection] = []
    with pytest.raises(ZeroDivisionError):
        await fail()
    with pytest.raises(ChannelUnavailable, match="is lost"):
        left[0].say("anna@example.org", "chat", "1", [])
