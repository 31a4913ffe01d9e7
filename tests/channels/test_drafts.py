import asyncio
from pathlib import Path

from agent.channels.drafts import BROKEN_OFF, MAX_DRAFTS, AnswerDraft, Drafts
from agent.errors import ChannelUnavailable
from agent.messages import Inbound, Outbound, Provenance
from agent.system.clock import Clock, SystemClock
from tests.fakes.clock import SteppedClock
from tests.waits import stays, wait_until


class Shown(Drafts):
    """A chat of which every request takes until the test lets it."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        super().__init__(folder, clock)
        self.texts: list[tuple[str, str]] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    def _interval_s(self, draft: AnswerDraft) -> float:
        return 1.0

    async def _put(self, draft: AnswerDraft, text: str) -> None:
        await self.may_answer.wait()
        if text == "broken":
            raise ChannelUnavailable("cut")
        draft.message_id = draft.message_id or f"shown {len(self.texts)}"
        self.texts.append((draft.message_id, text))


class Cut(Shown):
    """A chat that cannot be reached."""

    async def _put(self, draft: AnswerDraft, text: str) -> None:
        raise ChannelUnavailable("cut")


class Named(Shown):
    """A chat that takes a message of one name once; the word that it did is lost on the way."""

    names_once = True

    def __init__(self, folder: Path, clock: Clock, stands: dict[str, str]) -> None:
        super().__init__(folder, clock)
        self.stands = stands

    async def _put(self, draft: AnswerDraft, text: str) -> None:
        self.stands.setdefault("draft", text)
        self.texts.append(("", text))

    async def _named(self, message: Outbound) -> str:
        self.stands.setdefault("draft", message.text)
        return "draft"


def written(message_id: str) -> Inbound:
    return Inbound(message_id, "told", "anna", "chat", "hello", 1.0, Provenance.OWNER)


def answer(message_id: str) -> Outbound:
    return Outbound(1, "told", "chat", "It is warm.", message_id)


async def until_shown(drafts: Shown, count: int) -> None:
    await wait_until(lambda: len(drafts.texts) >= count)


async def test_an_answer_that_grows_is_one_message(tmp_path: Path) -> None:
    clock = SteppedClock()
    drafts = Shown(tmp_path, clock)
    drafts.show(written("1"), "It")
    await until_shown(drafts, 1)
    drafts.show(written("1"), "It is")
    clock.advance(1.0)
    await until_shown(drafts, 2)
    assert drafts.texts == [("shown 0", "It"), ("shown 0", "It is")]
    assert await drafts.end(answer("1")) == "shown 0"
    drafts.forget(answer("1"))
    assert await drafts.end(answer("1")) == ""


async def test_the_next_run_goes_on_in_the_same_message(tmp_path: Path) -> None:
    first = Shown(tmp_path, SteppedClock())
    first.show(written("1"), "It is")
    await until_shown(first, 1)
    # Its id is on record before anything waits for it
    assert await first.end(answer("1")) == "shown 0"
    second = Shown(tmp_path, SteppedClock())
    second.show(written("1"), "It")
    await until_shown(second, 1)
    assert second.texts == [("shown 0", "It")]
    third = Shown(tmp_path, SteppedClock())
    assert await third.end(answer("1")) == "shown 0"
    assert await third.end(answer("2")) == ""


async def test_an_end_lets_a_message_arrive_that_the_next_run_has_to_know(tmp_path: Path) -> None:
    drafts = Shown(tmp_path, SteppedClock())
    drafts.may_answer.clear()
    drafts.show(written("1"), "It is")
    await asyncio.sleep(0)
    await wait_until(lambda: any(draft.is_calling for draft in drafts._drafts.values()))
    ending = asyncio.ensure_future(drafts.aclose())
    await asyncio.sleep(0)
    drafts.may_answer.set()
    await ending
    assert await Shown(tmp_path, SteppedClock()).end(answer("1")) == "shown 0"


async def test_a_draft_that_is_forgotten_for_others_still_becomes_its_answer(
    tmp_path: Path,
) -> None:
    drafts = Shown(tmp_path, SteppedClock())
    drafts.show(written("first"), "It")
    await until_shown(drafts, 1)
    await drafts.end(answer("first"))
    for number in range(MAX_DRAFTS):
        drafts.show(written(str(number)), "broken")
    assert await drafts.end(answer("first")) == "shown 0"
    await drafts.aclose()


async def test_a_draft_whose_id_was_lost_is_found_by_its_name(tmp_path: Path) -> None:
    stands: dict[str, str] = {}
    first = Named(tmp_path, SteppedClock(), stands)
    first.show(written("1"), "It is")
    await until_shown(first, 1)
    assert await first.end(answer("1")) == "draft"
    # The same after a kill, and after another one when the answer was whole
    second = Named(tmp_path, SteppedClock(), stands)
    assert await second.end(answer("1")) == "draft"
    second.forget(answer("1"))
    assert await second.end(answer("1")) == ""
    assert await Named(tmp_path, SteppedClock(), stands).end(answer("1")) == "draft"
    assert stands == {"draft": "It is"}


async def test_an_answer_that_was_no_draft_is_asked_for_by_no_name(tmp_path: Path) -> None:
    stands: dict[str, str] = {}
    assert await Named(tmp_path, SteppedClock(), stands).end(answer("1")) == ""
    assert stands == {}
    assert not (tmp_path / "begun.json").exists()


async def test_an_answer_that_is_whole_at_once_was_never_a_draft(tmp_path: Path) -> None:
    drafts = Shown(tmp_path, SystemClock())
    drafts.show(written("1"), "It is")
    drafts.show(written("1"), "It is warm.")
    assert await drafts.end(answer("1")) == ""
    assert drafts.texts == []
    await drafts.aclose()


async def test_a_draft_that_is_broken_off_says_so_ahead_of_what_it_says(tmp_path: Path) -> None:
    drafts = Shown(tmp_path, SteppedClock())
    drafts.show(written("1"), "It is")
    await until_shown(drafts, 1)
    # The time of the next one has not come, and will not
    drafts.show(written("1"), "It is warm")
    await drafts.break_off(written("1"))
    assert drafts.texts[1:] == [("shown 0", f"{BROKEN_OFF}\n\nIt is")]


async def test_a_draft_that_nobody_has_seen_is_broken_off_in_silence(tmp_path: Path) -> None:
    drafts = Shown(tmp_path, SystemClock())
    drafts.show(written("1"), "It is")
    await drafts.break_off(written("1"))
    await drafts.break_off(written("2"))
    await stays(lambda: drafts.texts == [], 0.05)


async def test_a_platform_that_is_away_ends_nothing_that_is_broken_off(tmp_path: Path) -> None:
    first = Shown(tmp_path, SteppedClock())
    first.show(written("1"), "It is")
    await until_shown(first, 1)
    await first.end(answer("1"))
    first.texts.clear()
    cut = Cut(tmp_path, SteppedClock())
    await cut.break_off(written("1"))
    assert cut.texts == []
