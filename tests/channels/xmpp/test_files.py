from pathlib import Path

from msgspec.structs import replace

from agent.messages import Attachment
from tests.contracts.listener import answer
from tests.contracts.listener import listening as at_work
from tests.fakes import prosody, xmpp_conversation
from tests.fakes.xmpp_platform import XmppPlatform
from tests.waits import wait_until

_FORBIDDEN = {
    "http://127.0.0.1:8080/api": "local",
    "https://127.0.0.1/": "local",
    "https://printer.local/": "name of this machine or network",
    "http://93.184.216.34/sheet.pdf": "send the file unencrypted",
    "file:///etc/passwd": "could not fetch",
    "aesgcm://files.example.org/a": "it is encrypted",
    "https://[": "cannot be used",
    "nonsense": "could not fetch",
    f"https://example.org/{'a' * 3000}": "cannot be used",
}


async def test_nothing_is_fetched_from_where_it_must_not(platform: XmppPlatform) -> None:
    async with at_work(platform.channel) as listener:
        await platform.write("first")
        for address in _FORBIDDEN:
            link = f"<x xmlns='jabber:x:oob'><url>{address}</url></x>"
            platform.anna.say(platform.address, "look", link)
        heard = (await listener.first(1 + len(_FORBIDDEN)))[1:]
        for inbound, why in zip(heard, _FORBIDDEN.values(), strict=True):
            assert inbound.notes[0].startswith("I could not fetch a file: ")
            assert why in inbound.notes[0]
            assert not inbound.attachments


async def test_the_files_of_strangers_are_not_fetched(platform: XmppPlatform) -> None:
    platform.knows = lambda _: False
    platform.channel = platform.restarted()
    async with at_work(platform.channel) as listener:
        await platform.write_with_file("look", b"%PDF-1.7")
        [heard] = await listener.first()
        assert (heard.text, heard.attachments) == ("look", ())
        assert heard.notes == ("I did not fetch a file: only of people with access I keep files.",)


async def test_a_file_has_the_name_that_its_sender_gave_it(platform: XmppPlatform) -> None:
    async with at_work(platform.channel) as listener:
        await platform.write_with_file("", b"%PDF-1.7 of a datasheet")
        [heard] = await listener.first()
        [file] = heard.attachments
        assert (file.name, file.media_type) == ("sheet.pdf", "application/pdf")


async def test_a_file_that_the_store_does_not_take_is_told_of(
    platform: XmppPlatform, tmp_path: Path
) -> None:
    large = tmp_path / "large.bin"
    with large.open("wb") as file:
        file.truncate(11 * 1024 * 1024)
    attachment = Attachment(str(large), "application/octet-stream", "large.bin", 0)
    async with at_work(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        await platform.channel.send(replace(answer(heard, "Here."), files=(attachment,)))
        await wait_until(lambda: len(platform.shown(heard)) >= 2)
        assert "large.bin could not go with this" in platform.shown(heard)[1]


async def test_a_server_without_a_store_says_so(tmp_path: Path) -> None:
    with prosody.running(tmp_path / "prosody", has_store=False) as server:
        async with xmpp_conversation.platform(tmp_path, server) as (platform, _):
            sheet = tmp_path / "sheet.pdf"
            sheet.write_bytes(b"%PDF-1.7")
            file = Attachment(str(sheet), "application/pdf", "sheet.pdf", 8)
            async with at_work(platform.channel) as listener:
                await platform.write("hello")
                [heard] = await listener.first()
                await platform.channel.send(replace(answer(heard, "Here."), files=(file,)))
                await wait_until(lambda: len(platform.shown(heard)) >= 2)
                assert "has no file store" in platform.shown(heard)[1]
