"""Files that people send, from the channel to what the model and the person are told."""

from pathlib import Path

from msgspec.structs import replace

from agent.channels.incoming_files import NOT_HEARD
from agent.messages import Attachment, Provenance
from agent.providers.offline.provider import OfflineProvider
from agent.tools.files import FileReadTool
from tests.fakes.channel import FakeChannel, message
from tests.fakes.dispatching import running, spoken
from tests.fakes.provider import ScriptedProvider, calls
from tests.waits import wait_until

TEXT = "\n".join(f"line {number}" for number in range(1, 131))


def letter(folder: Path, content: str, name: str, kind: str = "text/plain") -> Attachment:
    path = folder / "20260101-aa.txt"
    path.write_text(content)
    return Attachment(str(path), kind, name, len(content))


async def test_a_model_is_shown_a_path_that_file_read_reads(tmp_path: Path) -> None:
    channel = FakeChannel()
    place = "received/owner/plan.txt"
    read = calls(("file_read", f'{{"path":"{place}","page":2}}'))
    provider = ScriptedProvider(read, "it ends with 120")
    tool = FileReadTool(tmp_path / "workspace")
    async with running(tmp_path, provider, channel, tools=[tool]) as agent:
        file = letter(tmp_path, TEXT, "plan.txt")
        said = replace(message("what is on page 2?"), attachments=(file,), person="owner")
        await agent.dispatcher.deliver(said, agent.tasks)
        assert await channel.wait_for(1) == ["it ends with 120"]
    assert f"[DOCUMENT:{place}] (plan.txt)" in spoken(provider.requests[0])[0].text
    result = provider.requests[1].messages[-1]
    assert '"page":2,"pages":3' in result.text
    assert "line 61\\n" in result.text
    # As little trusted as what is shown of it beside its message
    assert result.words.provenance is Provenance.WEB


async def test_without_a_model_it_is_kept_and_read_page_by_page(tmp_path: Path) -> None:
    channel = FakeChannel()
    tool = FileReadTool(tmp_path / "workspace")
    async with running(tmp_path, OfflineProvider(), channel, tools=[tool]) as agent:
        file = letter(tmp_path, TEXT, "turn the led on.txt")
        said = replace(message(""), attachments=(file,), person="owner")
        await agent.dispatcher.deliver(said, agent.tasks)
        told = "I have kept turn the led on.txt. Say “read it” or “page 2”."
        assert await channel.wait_for(1) == [told]
        await agent.say("read it", "2")
        await agent.say("what is on the second page?", "3")
        await agent.say("next page", "4")
        await agent.say("page 9", "5")
        answers = (await channel.wait_for(5))[1:]
    assert answers[0].startswith("turn the led on.txt, page 1/3\n```\nline 1\n")
    assert answers[0].endswith("line 60\n```\n(there is more)")
    assert "page 2/3\n```\nline 61\n" in answers[1]
    assert "page 3/3\n```\nline 121\n" in answers[2]
    assert "there is no page 9" in answers[3]


async def test_what_cannot_be_had_is_told_and_is_no_command(tmp_path: Path) -> None:
    channel = FakeChannel()
    note = "I could not fetch turn the led on.pdf: it is larger than 20 MB."
    async with running(tmp_path, OfflineProvider(), channel) as agent:
        await agent.dispatcher.deliver(replace(message(""), notes=(note,)), agent.tasks)
        assert await channel.wait_for(1) == [note]
        await wait_until(agent.is_idle)
        voice = Attachment(str(tmp_path / "v.ogg"), "audio/ogg")
        said = replace(message("", "2"), notes=(NOT_HEARD,), attachments=(voice,))
        await agent.dispatcher.deliver(said, agent.tasks)
        assert (await channel.wait_for(2))[1] == NOT_HEARD


async def test_a_model_is_asked_about_the_words_beside_it(tmp_path: Path) -> None:
    channel, provider = FakeChannel(), ScriptedProvider("hello")
    note = "I could not fetch a.pdf: it is larger than 20 MB."
    async with running(tmp_path, provider, channel) as agent:
        await agent.dispatcher.deliver(replace(message("hi"), notes=(note,)), agent.tasks)
        assert await channel.wait_for(1) == [f"{note}\n\nhello"]
    assert note in spoken(provider.requests[0])[0].text


async def test_files_are_listed_for_whoever_sent_them(tmp_path: Path) -> None:
    channel = FakeChannel()
    async with running(tmp_path, ScriptedProvider("kept"), channel) as agent:
        file = letter(tmp_path, TEXT, "plan.txt")
        said = replace(message("keep it"), attachments=(file,), person="owner")
        await agent.dispatcher.deliver(said, agent.tasks)
        await channel.wait_for(1)
        await agent.say("/files", "2")
        await agent.say("/files", "3", sender="guest")
        told = (await channel.wait_for(3))[1:]
    assert told[0].startswith("`received/owner/plan.txt`, 1 kB, 20")
    assert told[1] == "You have sent no files."
