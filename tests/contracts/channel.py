"""What every platform's channel does with messages, answers, files and trouble.

A platform brings a server of its own; a check skips what it says it cannot do.
"""

import re
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.channels.base import Mark
from agent.channels.drafts import BROKEN_OFF
from agent.errors import ChannelUnavailable, StorageFull
from agent.messages import Attachment, Inbound, Provenance
from tests.contracts import channel_questions
from tests.contracts.listener import Listener, answer, content, listening, stand
from tests.contracts.platform import Platform
from tests.waits import stays, wait_until


async def messages_come_in_order_with_ids_of_their_own(platform: Platform) -> None:
    async with listening(platform.channel) as listener:
        for number in range(5):
            await platform.write(f"number {number}")
        heard = await listener.first(5)
        assert [one.text for one in heard] == [f"number {number}" for number in range(5)]
        assert len({one.message_id for one in heard}) == 5
        assert {one.provenance for one in heard} == {Provenance.WEB}
        assert {one.channel for one in heard} == {platform.channel.name}


async def a_repeated_message_has_the_same_id(platform: Platform) -> None:
    """That is what it is known by: the inbox drops it."""
    async with listening(platform.channel) as listener:
        await platform.write("once")
        await listener.first()
        await platform.repeat()
        await platform.write("next")
        await wait_until(lambda: listener.heard[-1].text == "next")
        ids = {one.message_id for one in listener.heard if one.text == "once"}
        assert len(ids) == 1


async def what_was_not_kept_is_asked_for_again(platform: Platform) -> None:
    if not platform.repeats_what_was_not_confirmed:
        pytest.skip(f"{platform.channel.name} pushes a message once")
    async with listening(platform.channel) as listener:
        listener.trouble = StorageFull("no room")
        await platform.write("kept in the end")
        await wait_until(lambda: listener.refused)
        listener.trouble = None
        [heard] = await listener.first()
        assert heard.text == "kept in the end"


async def a_cut_connection_is_taken_up_again(platform: Platform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("before")
        await listener.first()
        platform.cut_listening()
        # Cut before it was confirmed it may come again, and is known by its id
        await stays(lambda: len({one.message_id for one in listener.heard}) == 1, 0.05)
        await platform.write("after")
        await wait_until(lambda: listener.heard[-1].text == "after")


async def what_is_written_during_a_restart_is_heard(platform: Platform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("before")
        await listener.first()
    again = platform.restarted()
    async with listening(again) as listener:
        await platform.write("after")
        await wait_until(lambda: any(one.text == "after" for one in listener.heard))


async def the_pulse_tells_when_the_platform_was_heard(platform: Platform) -> None:
    pulse = platform.channel.pulse
    assert pulse is not None
    await wait_until(lambda: pulse.age_s >= 0.05)
    async with listening(platform.channel) as listener:
        begun_s = time.monotonic()
        await platform.write("hello")
        await listener.first()
        assert pulse.age_s <= time.monotonic() - begun_s


async def an_answer_stands_where_the_question_was(platform: Platform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        await platform.channel.send(answer(heard, "It is **warm**."))
        await stand(platform, heard, "It is warm.")
        assert not heard.is_group


async def a_long_answer_arrives_whole_and_in_order(platform: Platform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        words = [f"word{number} 👩‍🚀" for number in range(1500)]
        parts = platform.channel.parts(" ".join(words))
        for number, part in enumerate(parts):
            await platform.channel.send(replace(answer(heard, part), part=number))
        await wait_until(lambda: len(platform.shown(heard)) >= len(parts) > 1)
        shown = platform.shown(heard)
        assert len(shown) == len(parts)
        assert " ".join(shown).split() == " ".join(words).split()


async def a_group_hears_only_who_calls(platform: Platform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("lamp on", is_group=True, calls=False)
        await platform.write("pump on", is_group=True)
        [heard] = await listener.first()
        assert heard.text.endswith("pump on")
        assert heard.is_group
        await platform.channel.send(answer(heard, "Here."))
        await stand(platform, heard, "Here.")


async def a_stop_in_a_group_needs_no_call(platform: Platform) -> None:
    async with listening(platform.channel) as listener:
        await _there(platform, listener)
        await platform.write("/estop", is_group=True, calls=False)
        await wait_until(lambda: listener.heard[-1].text == "/estop")


async def who_has_to_call_to_stop_is_told_so(platform: Platform) -> None:
    needs_call = "a_stop_in_a_group_needs_no_call" in platform.cannot
    told = platform.channel.abilities.group_stop
    assert told or not needs_call
    assert not told or {"/stop", "/estop"} <= {*re.findall(r"/\w+", told)}


async def a_thread_is_answered_in_the_thread(platform: Platform) -> None:
    async with listening(platform.channel) as listener:
        if not await platform.write_in_thread("in a topic"):
            pytest.skip(f"{platform.channel.name} has no threads")
        [heard] = await listener.first()
        assert heard.thread is not None
        await platform.channel.typing(heard)
        await platform.channel.send(answer(heard, "Here."))
        await stand(platform, heard, "Here.")


async def a_file_is_kept_before_its_message_is_heard(platform: Platform) -> None:
    if not platform.channel.abilities.takes_files:
        pytest.skip(f"{platform.channel.name} takes no files")
    async with listening(platform.channel) as listener:
        await platform.write_with_file("look", b"%PDF-1.7 of a datasheet")
        [heard] = await listener.first()
        [file] = heard.attachments
        assert heard.text == "look"
        assert content(file) == b"%PDF-1.7 of a datasheet"


async def a_file_goes_with_an_answer(platform: Platform, folder: Path) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        file = _file(folder, b"%PDF-1.7 of a report")
        await platform.channel.send(replace(answer(heard, "Here."), files=(file,)))
        await wait_until(platform.files)
        assert platform.files() == [b"%PDF-1.7 of a report"]
        assert platform.shown(heard)[0] == "Here."


async def trouble_is_no_refusal_and_the_next_try_succeeds(platform: Platform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        platform.break_next_send()
        with pytest.raises(ChannelUnavailable):
            await platform.channel.send(answer(heard, "Here."))
        await platform.channel.send(answer(heard, "Here."))
        await stand(platform, heard, "Here.")


async def a_wish_to_be_left_alone_is_handed_on(platform: Platform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        platform.break_next_send(retry_after_s=7)
        with pytest.raises(ChannelUnavailable) as caught:
            await platform.channel.send(answer(heard, "Here."))
        assert caught.value.retry_after_s == pytest.approx(7, abs=0.5)


async def typing_and_marks_are_shown(platform: Platform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        await platform.channel.typing(heard)
        await platform.channel.mark(heard, Mark.SEEN)
        abilities = platform.channel.abilities
        assert platform.typings() == (1 if abilities.typing_every_s else 0)
        assert platform.marks() == (1 if abilities.shows_marks else 0)


async def a_draft_never_costs_the_answer(platform: Platform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello", is_group=True)
        [heard] = await listener.first()
        for text in ("It", "It is", "It is warm"):
            await platform.channel.draft(heard, text)
            await stays(lambda: len(platform.shown(heard)) <= 1, 0.01)
        await platform.channel.send(answer(heard, "It is warm."))
        await stand(platform, heard, "It is warm.")


async def a_draft_that_a_restart_left_becomes_the_answer(platform: Platform) -> None:
    if not platform.channel.abilities.shows_drafts:
        pytest.skip(f"{platform.channel.name} shows no drafts")
    async with listening(platform.channel) as listener:
        await platform.write("hello", is_group=True)
        [heard] = await listener.first()
        await platform.channel.draft(heard, "It is")
        await stand(platform, heard, "It is")
    again = platform.restarted()
    async with listening(again) as listener:
        await _there(platform, listener)
        await again.draft(heard, "It")
        await stays(lambda: len(platform.shown(heard)) == 1, 0.05)
        await again.send(answer(heard, "It is warm."))
        await stand(platform, heard, "It is warm.")
    # A cut before the answer is on record has it sent once more
    third = platform.restarted()
    async with listening(third) as listener:
        await _there(platform, listener)
        await third.send(answer(heard, "It is warm."))
        await third.send(replace(answer(heard, "More.", 2), in_reply_to=""))
        await stand(platform, heard, "It is warm.", "More.")


async def a_draft_of_no_answer_is_marked_as_such(platform: Platform) -> None:
    """Left as it is, half an answer looks like one."""
    if not platform.channel.abilities.shows_drafts:
        pytest.skip(f"{platform.channel.name} shows no drafts")
    async with listening(platform.channel) as listener:
        await platform.write("hello", is_group=True)
        [heard] = await listener.first()
        await platform.channel.draft(heard, "It is")
        await stand(platform, heard, "It is")
        await platform.channel.break_off(heard)
        [shown] = await _one_shown(platform, heard)
        assert shown.startswith(BROKEN_OFF)
        assert shown.endswith("It is")
    # The next run knows no words of it
    again = platform.restarted()
    async with listening(again) as listener:
        await _there(platform, listener)
        await again.break_off(heard)
        await again.break_off(replace(heard, message_id="another"))
        await wait_until(lambda: platform.shown(heard) == [BROKEN_OFF])
        # Where it is answered after all, as after a cut, the mark goes
        await again.send(answer(heard, "It is warm."))
        await stand(platform, heard, "It is warm.")


async def _one_shown(platform: Platform, heard: Inbound) -> list[str]:
    await wait_until(lambda: platform.shown(heard)[:1] != ["It is"])
    return platform.shown(heard)


CHECKS = (
    messages_come_in_order_with_ids_of_their_own,
    a_repeated_message_has_the_same_id,
    what_was_not_kept_is_asked_for_again,
    a_cut_connection_is_taken_up_again,
    what_is_written_during_a_restart_is_heard,
    the_pulse_tells_when_the_platform_was_heard,
    an_answer_stands_where_the_question_was,
    a_long_answer_arrives_whole_and_in_order,
    a_group_hears_only_who_calls,
    a_stop_in_a_group_needs_no_call,
    who_has_to_call_to_stop_is_told_so,
    a_thread_is_answered_in_the_thread,
    a_file_is_kept_before_its_message_is_heard,
    trouble_is_no_refusal_and_the_next_try_succeeds,
    a_wish_to_be_left_alone_is_handed_on,
    typing_and_marks_are_shown,
    a_draft_never_costs_the_answer,
    a_draft_that_a_restart_left_becomes_the_answer,
    a_draft_of_no_answer_is_marked_as_such,
    *channel_questions.CHECKS,
)


async def _there(platform: Platform, listener: Listener) -> None:
    await platform.write("still there?", is_group=True)
    await wait_until(lambda: any(one.text.endswith("still there?") for one in listener.heard))


def _file(folder: Path, content: bytes) -> Attachment:
    (path := folder / "report.pdf").write_bytes(content)
    return Attachment(str(path), "application/pdf", "report.pdf", len(content))
