import asyncio
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from msgspec.structs import replace

from agent.channels.base import Answer, Mark, Question
from agent.channels.signal import drafts
from agent.channels.signal.channel import pieces
from agent.channels.signal.writer import MAX_FILE_BYTES
from agent.errors import ChannelUnavailable, MessageRefused
from agent.messages import Address, Attachment, Inbound, Outbound, Provenance
from tests.channels.signal.conftest import Make, Signal
from tests.fakes.clock import SteppedClock
from tests.fakes.signal_daemon import SignalDaemon
from tests.fakes.signal_events import ANNA, BERND, GROUP, SENT_MS, in_group, message
from tests.fakes.signal_faults import BreaksOff, Fails, Hangs

ASKED = f"{ANNA}:{SENT_MS}"
# Of a long answer
WORDS = 200


def outbound(text: str, recipient: str = ANNA, part: int = 0, **more: object) -> Outbound:
    return Outbound(1, "signal", recipient, text, ASKED, part=part, **more)  # type: ignore[arg-type]  # fields of the value


def inbound(text: str = "How warm is it?", target: str = ANNA) -> Inbound:
    return Inbound(
        ASKED, "signal", ANNA, target, text, 0.0, Provenance.WEB, is_group=target != ANNA
    )


async def test_markdown_is_shown_in_signals_styles(signal: Make) -> None:
    async with signal() as it:
        await it.channel.send(outbound("\U0001f44d **bold** and `code`"))
        (shown,) = it.daemon.shown(ANNA)
    assert shown.text == "\U0001f44d bold and code"
    assert shown.styles == ("3:4:BOLD", "12:4:MONOSPACE")


async def test_an_answer_in_a_group_stands_below_what_was_asked(signal: Make) -> None:
    async with signal(groups="all") as it:
        it.daemon.tell(in_group("How warm is it?"))
        (asked,) = await it.heard.until(1)
        await it.channel.send(outbound("21 \u00b0C", asked.reply_target))
        await it.channel.send(outbound("and falling", asked.reply_target, part=1))
        first, second = it.daemon.shown(f"group.{GROUP}")
    assert first.quote == (SENT_MS, ANNA, "How warm is it?")
    assert second.quote is None


async def test_in_a_chat_of_two_nothing_is_quoted(signal: Make) -> None:
    async with signal() as it:
        it.daemon.tell(message("How warm is it?"))
        await it.heard.until(1)
        await it.channel.send(outbound("21 \u00b0C"))
        assert it.daemon.shown(ANNA)[0].quote is None


async def test_a_long_answer_goes_in_parts_that_signal_takes(signal: Make) -> None:
    text = "\n\n".join(f"{number} \u4f60\u597d **\U0001f44d** " * 20 for number in range(20))
    async with signal() as it:
        parts = it.channel.parts(text)
        for number, part in enumerate(parts):
            await it.channel.send(outbound(part, part=number))
        shown = it.daemon.shown(ANNA)
    assert len(shown) == len(parts) > 3
    assert all(len(one.text.encode()) <= 2000 for one in shown)
    assert "".join("".join(one.text.split()) for one in shown) == "".join(
        text.replace("*", "").split()
    )


async def test_files_go_beside_the_text_as_their_content(signal: Make, tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    path.write_bytes(b"\x89PNG\xff")
    file = Attachment(str(path), "image/png", "gr\u00fc\u00dfe; a,b.png", 5)
    async with signal() as it:
        await it.channel.send(outbound("Look:", files=(file,)))
        text, picture = it.daemon.shown(ANNA)
    assert text.text == "Look:"
    assert picture.files[0].startswith("data:image/png;filename=")
    name = picture.files[0].split("filename=")[1].split(";base64,")[0]
    assert (unquote(name), re.search("[;, /]", name)) == (file.name, None)
    assert picture.files[0].endswith(";base64,iVBOR/8=")


async def test_a_voice_message_is_marked_as_one(signal: Make, tmp_path: Path) -> None:
    path = tmp_path / "answer.aac"
    path.write_bytes(b"\xff\xf1")
    spoken = Attachment(str(path), "audio/aac", "answer", 2, is_voice=True)
    async with signal() as it:
        await it.channel.send(outbound("", files=(spoken, replace(spoken, is_voice=False))))
        voice, sound = it.daemon.shown(ANNA)
    assert (voice.is_voice, sound.is_voice) == (True, False)
    assert voice.files[0].startswith("data:audio/aac;filename=")


async def test_a_file_that_cannot_go_is_said(signal: Make, tmp_path: Path) -> None:
    large, empty = tmp_path / "large", tmp_path / "empty"
    with large.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    empty.touch()
    paths = (large, empty, tmp_path / "gone")
    files = tuple(Attachment(str(path), "text/plain", path.name) for path in paths)
    async with signal() as it:
        await it.channel.send(outbound("", files=files))
        told = [one.text for one in it.daemon.shown(ANNA)]
    assert [text.split(" ")[0] for text in told] == ["(large", "(empty", "(gone"]


async def test_a_file_that_fails_does_not_repeat_the_text(signal: Make, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a")
    files = (Attachment(str(path), "text/plain"), Attachment(str(path), "text/plain"))
    sent = outbound("Once.", files=files)
    async with signal() as it:
        it.daemon.fail("send")
        await it.channel._letters.put({"recipient": [BERND]}, "before")
        it.daemon.faults["send"].clear()
        original = it.channel._letters.give
        tries = 0

        async def second_fails(parameters: dict[str, object], file: Attachment) -> int:
            nonlocal tries
            tries += 1
            if tries == 2:
                raise ChannelUnavailable("no network")
            return await original(parameters, file)

        it.channel._letters.give = second_fails  # type: ignore[assignment, method-assign]  # fails in the middle of a message
        with pytest.raises(ChannelUnavailable):
            await it.channel.send(sent)
        await it.channel.send(sent)
        shown = it.daemon.shown(ANNA)
    assert [one.text for one in shown] == ["Once.", "", ""]
    assert tries == 3


@pytest.mark.parametrize(
    ("fault", "kind", "clue"),
    [
        (Fails(-3, "Failed: timeout"), ChannelUnavailable, "timeout"),
        (Fails(-1, "Invalid group id"), MessageRefused, "Invalid group id"),
        (BreaksOff(), ChannelUnavailable, "broke off"),
    ],
)
async def test_what_was_not_sent_is_raised(
    signal: Make, fault: Fails | BreaksOff, kind: type[Exception], clue: str
) -> None:
    async with signal() as it:
        it.daemon.fail("send", fault)
        with pytest.raises(kind, match=clue):
            await it.channel.send(outbound("hello"))
        assert it.daemon.shown(ANNA) == []
        await it.channel.send(outbound("hello"))
        assert [one.text for one in it.daemon.shown(ANNA)] == ["hello"]


def growing(it: Signal, clock: SteppedClock) -> "asyncio.Task[None]":
    """An answer that grows by a word each second."""

    async def grow() -> None:
        words = ""
        for number in range(WORDS):
            words += f"word{number} "
            await it.channel.draft(inbound(), words)
            await asyncio.sleep(0)
            clock.advance(1)
            if number == WORDS // 2:
                # The rest grows beside a draft that stands, however slow the machine is
                await it.daemon.until_called("send")

    return asyncio.create_task(grow())


async def test_a_short_answer_is_never_a_draft(signal: Make) -> None:
    clock = SteppedClock()
    async with signal(clock=clock) as it:
        await it.channel.draft(inbound(), "21")
        await it.channel.send(outbound("21 \u00b0C"))
        assert [(one.text, one.edits) for one in it.daemon.shown(ANNA)] == [("21 \u00b0C", 0)]


async def test_a_growing_answer_is_one_message_with_few_edits(signal: Make) -> None:
    clock = SteppedClock()
    async with signal(clock=clock) as it:
        await growing(it, clock)
        await it.daemon.until_called("send", 2)
        await it.channel.send(outbound("The answer."))
        (shown,) = it.daemon.shown(ANNA)
    assert shown.text == "The answer."
    assert 1 <= shown.edits <= drafts.MAX_EDITS + 1


async def test_edits_stop_before_signal_takes_no_more(signal: Make) -> None:
    clock = SteppedClock()
    async with signal(clock=clock) as it:
        for number in range(30):
            await it.channel.draft(inbound(), f"so far {number}")
            (draft,) = it.channel._drafts._drafts.values()
            assert draft.task is not None
            await asyncio.wait([draft.task])
        await it.channel.send(outbound("The answer."))
        (shown,) = it.daemon.shown(ANNA)
    assert (shown.text, shown.edits) == ("The answer.", drafts.MAX_EDITS)


async def test_a_draft_that_cannot_be_edited_is_taken_back(signal: Make) -> None:
    clock = SteppedClock()
    async with signal(clock=clock) as it:
        await it.channel.draft(inbound(), "so far")
        await it.daemon.until_called("send")
        it.daemon.fail("send", Fails(-1, "Cannot edit"))
        await it.channel.send(outbound("The answer."))
        (shown,) = it.daemon.shown(ANNA)
    assert (shown.text, shown.edits) == ("The answer.", 0)


async def test_without_network_the_draft_waits_for_the_next_try(signal: Make) -> None:
    clock = SteppedClock()
    async with signal(clock=clock) as it:
        await it.channel.draft(inbound(), "so far")
        await it.daemon.until_called("send")
        it.daemon.fail("send", Fails(-3, "no network"))
        with pytest.raises(ChannelUnavailable):
            await it.channel.send(outbound("The answer."))
        await it.channel.send(outbound("The answer."))
        (shown,) = it.daemon.shown(ANNA)
    assert (shown.text, shown.edits) == ("The answer.", 1)


async def test_a_daemon_that_takes_no_draft_still_sends_the_answer(signal: Make) -> None:
    clock = SteppedClock()
    async with signal(clock=clock) as it:
        it.daemon.fail("send", Fails(-1, "no"))
        await it.channel.draft(inbound(), "so far")
        await it.daemon.until_called("send")
        await it.channel.send(outbound("The answer."))
        assert [one.text for one in it.daemon.shown(ANNA)] == ["The answer."]


async def test_a_message_seen_is_read_and_marked_and_typing_ends(signal: Make) -> None:
    async with signal() as it:
        await it.channel.mark(inbound(), Mark.SEEN)
        await it.channel.typing(inbound())
        await it.channel.mark(inbound(), Mark.FAILED)
        calls = [(method, parameters) for method, parameters in it.daemon.calls]
    methods = [method for method, _ in calls if method != "listAccounts"]
    assert methods == ["sendReceipt", "sendReaction", "sendTyping", "sendTyping", "sendReaction"]
    receipt, seen, typing, stopped, failed = (told for method, told in calls if method in methods)
    assert (receipt["recipient"], receipt["targetTimestamp"], receipt["type"]) == (
        ANNA,
        [SENT_MS],
        "read",
    )
    assert (seen["targetAuthor"], seen["targetTimestamp"]) == (ANNA, SENT_MS)
    assert seen["emoji"] != failed["emoji"]
    assert ("stop" in typing, stopped["stop"]) == (False, True)


async def test_an_answer_ends_typing_by_itself(signal: Make) -> None:
    async with signal() as it:
        await it.channel.typing(inbound())
        await it.channel.send(outbound("21 \u00b0C"))
        await it.channel.mark(inbound(), Mark.DONE)
        assert len(it.daemon.called("sendTyping")) == 1


async def test_courtesies_that_fail_trouble_nobody(signal: Make) -> None:
    async with signal() as it:
        for method in ("sendTyping", "sendReceipt", "sendReaction"):
            it.daemon.fail(method, Fails(-3, "no network"))
        await it.channel.typing(inbound())
        await it.channel.mark(inbound(), Mark.SEEN)


QUESTION = Question("board_gpio_write", '{"pin": "led"}', "it moves something", question_id="ab3d")


async def test_a_question_is_answered_in_words_by_whom_it_was_for(signal: Make) -> None:
    async with signal() as it:
        asking = asyncio.create_task(it.channel.ask(Address("signal", ANNA, ANNA), QUESTION))
        await it.daemon.until_called("send")
        (asked,) = it.daemon.shown(ANNA)
        assert "yes ab3d" in asked.text
        assert '{"pin": "led"}' in asked.text
        it.daemon.tell(message("yes ab3d", sender=BERND, timestamp=1))
        it.daemon.tell(message("yes zzzz", timestamp=2))
        await it.heard.until(2)
        assert not asking.done()
        it.daemon.tell(message("Yes AB3D", timestamp=3))
        assert await asking is Answer.YES
        it.daemon.tell(message("yes ab3d", timestamp=4))
        await it.heard.until(3)
    assert it.heard.texts == ["yes ab3d", "yes zzzz", "yes ab3d"]


async def test_in_a_group_the_answer_needs_no_name(signal: Make) -> None:
    async with signal() as it:
        target = f"group.{GROUP}"
        asking = asyncio.create_task(it.channel.ask(Address("signal", target, ANNA), QUESTION))
        await it.daemon.until_called("send")
        it.daemon.tell(in_group("yes ab3d", sender=BERND, timestamp=1))
        it.daemon.tell(message("yes ab3d", timestamp=2))
        await it.heard.until(1)
        assert not asking.done()
        it.daemon.tell(in_group("no ab3d", timestamp=3))
        assert await asking is Answer.NO


async def test_a_question_that_is_given_up_takes_no_answer(signal: Make) -> None:
    async with signal() as it:
        asking = asyncio.create_task(it.channel.ask(Address("signal", ANNA, ANNA), QUESTION))
        await it.daemon.until_called("send")
        asking.cancel()
        await asyncio.wait([asking])
        it.daemon.tell(message("yes ab3d"))
        await it.heard.until(1)
    assert it.heard.texts == ["yes ab3d"]


async def test_a_question_that_cannot_be_put_is_raised(signal: Make) -> None:
    async with signal() as it:
        it.daemon.fail("send", Fails(-3, "no network"))
        with pytest.raises(ChannelUnavailable):
            await it.channel.ask(Address("signal", ANNA, ANNA), QUESTION)


async def test_a_call_too_long_to_be_shown_is_not_asked_about(signal: Make) -> None:
    async with signal() as it:
        long = Question("shell", '"' + "x" * 5000 + '"', "it acts")
        assert await it.channel.ask(Address("signal", ANNA, ANNA), long) is Answer.NONE
        assert it.daemon.shown(ANNA) == []


def test_a_question_in_pieces_loses_no_character() -> None:
    text = "\U0001f44d*_`\n" * 400
    assert "".join(pieces(text)) == text
    assert all(len(piece.encode()) <= 2000 for piece in pieces(text))


async def test_a_channel_that_is_closed_leaves_no_draft_running(signal: Make) -> None:
    async with signal(clock=SteppedClock()) as it:
        it.daemon.fail("send", Hangs())
        await it.channel.draft(inbound(), "so far")
        await it.daemon.until_called("send")
        (draft,) = it.channel._drafts._drafts.values()
        await it.channel.aclose()
        assert draft.task is not None
        assert draft.task.done()


async def test_a_newer_daemon_is_spoken_to_alike(signal: Make) -> None:
    async with signal(SignalDaemon(numbers_events=True, version="0.14.6")) as it:
        it.daemon.tell(message("hello"))
        await it.heard.until(1)
        await it.channel.send(outbound("hello"))
        assert [one.text for one in it.daemon.shown(ANNA)] == ["hello"]
