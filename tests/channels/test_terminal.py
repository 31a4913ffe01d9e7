import asyncio
from collections.abc import Callable

import pytest

from agent.channels.base import Answer, Question
from agent.channels.terminal import TerminalChannel
from agent.errors import ChannelRefused
from agent.messages import Inbound, Outbound
from tests.fakes.channel import message
from tests.fakes.clock import SteppedClock


class TypedLines:
    """Lines that a person types, one after the other, and the prompts shown for them."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)
        self.prompts: list[str] = []

    async def read(self, prompt: str) -> str | None:
        self.prompts.append(prompt)
        return self._lines.pop(0) if self._lines else None

    def close(self) -> None:
        return


class Chat:
    """A terminal whose agent answers with `reply`."""

    def __init__(self, *lines: str, plain: bool = True) -> None:
        self.lines = TypedLines(*lines)
        self.shown: list[str] = []
        self.received: list[Inbound] = []
        self.drafts: list[str] = []
        self.terminal = TerminalChannel(
            self.lines, self.shown.append, SteppedClock(), "> ", plain=plain
        )

    async def run(self, reply: Callable[[str], str]) -> str:
        async def deliver(inbound: Inbound) -> None:
            self.received.append(inbound)
            for draft in self.drafts:
                await self.terminal.draft(inbound, draft)
            await self.terminal.send(answer_to(inbound, reply(inbound.text)))

        await self.terminal.listen(deliver)
        return "".join(self.shown)


def answer_to(inbound: Inbound, text: str) -> Outbound:
    return Outbound(1, "terminal", "local", text, inbound.message_id)


async def test_plain_gives_one_line_for_each_line() -> None:
    chat = Chat("one", "two")
    assert await chat.run(lambda text: f"{text}!") == "one!\ntwo!\n"


async def test_plain_keeps_an_answer_of_many_lines_on_one() -> None:
    assert await Chat("x").run(lambda _: "a\n\n- b\n- c") == "a - b - c\n"


async def test_plain_answers_an_empty_line_with_an_empty_line() -> None:
    chat = Chat("", "x")
    assert await chat.run(lambda _: "y") == "\ny\n"
    assert [inbound.text for inbound in chat.received] == ["x"]


async def test_a_person_may_press_return_without_consequence() -> None:
    chat = Chat("", "   ", plain=False)
    assert (await chat.run(lambda _: "y")).strip() == ""
    assert chat.received == []


async def test_every_message_has_its_own_id() -> None:
    chat = Chat("a", "b", "c")
    await chat.run(lambda _: "x")
    assert len({inbound.message_id for inbound in chat.received}) == 3


@pytest.mark.parametrize("word", ["/quit", "/exit"])
async def test_leaving_ends_the_chat(word: str) -> None:
    chat = Chat(word, "never read")
    await chat.run(lambda _: "x")
    assert chat.received == []


async def test_a_draft_grows_on_the_screen_and_is_not_repeated() -> None:
    chat = Chat("x", plain=False)
    chat.drafts = ["It ", "It is "]
    assert await chat.run(lambda _: "It is on.") == "It is on.\n\n"
    assert chat.shown == ["It ", "is ", "on.", "\n", "\n"]


async def test_an_answer_unlike_its_draft_is_shown_whole() -> None:
    chat = Chat("x", plain=False)
    chat.drafts = ["I thi"]
    assert await chat.run(lambda _: "Stopped.") == "I thi\nStopped.\n\n"


async def test_escape_sequences_do_not_reach_the_screen() -> None:
    shown = await Chat("x", plain=False).run(lambda _: "a\x1b[2Jb\u202ec\rd")
    assert shown == "a[2Jbcd\n\n"


async def test_an_answer_that_takes_its_time_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.channels.terminal.PATIENCE_S", 0.0)
    chat = Chat("x", plain=False)
    released = asyncio.Event()

    async def deliver(inbound: Inbound) -> None:
        async def answer() -> None:
            await released.wait()
            await chat.terminal.send(answer_to(inbound, "done"))

        tasks.create_task(answer())

    async with asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(chat.terminal.listen(deliver))
        while not chat.shown:  # noqa: ASYNC110 - the screen has no event
            await asyncio.sleep(0)
        released.set()
        await listening
    assert chat.shown == ["…", "\r \r", "done", "\n", "\n"]


async def test_while_a_question_is_on_the_screen_nothing_is_announced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agent.channels.terminal.PATIENCE_S", 0.0)
    chat = Chat("x", "what?", "y", plain=False)

    async def deliver(inbound: Inbound) -> None:
        async def ask_and_answer() -> None:
            await chat.terminal.ask(inbound.address, Question("pump", "{}", "it may hurt"))
            await chat.terminal.send(answer_to(inbound, "done"))

        tasks.create_task(ask_and_answer())

    async with asyncio.TaskGroup() as tasks:
        await chat.terminal.listen(deliver)
    assert "…" not in "".join(chat.shown)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("y", Answer.YES), ("YES", Answer.YES), ("n", Answer.NO), ("always", Answer.ALWAYS)],
)
async def test_a_question_takes_the_persons_word(typed: str, answer: Answer) -> None:
    chat = Chat("what?", typed, plain=False)
    question = Question("pump", '{"on": true}', "it may hurt", always="pump, for 30 days\x1b")
    assert await chat.terminal.ask(message("x").address, question) is answer
    assert '{"on": true}' in "".join(chat.shown)
    assert "“Always” approves from now on: pump, for 30 days<U+001B>.\n" in "".join(chat.shown)
    assert "it may hurt" in "".join(chat.shown)
    assert len(chat.lines.prompts) == 2


async def test_where_nothing_may_stand_always_is_no_answer() -> None:
    chat = Chat("what?", "always", "n", plain=False)
    question = Question("pump", "{}", "it may hurt")
    assert await chat.terminal.ask(message("x").address, question) is Answer.NO
    assert chat.lines.prompts == ["[y]es / [n]o: "] * 3
    assert "Always" not in "".join(chat.shown)


async def test_a_tools_own_words_stand_before_its_arguments() -> None:
    chat = Chat("what?", "y", plain=False)
    question = Question("pump", '{"on": true}', "it may hurt", "The pump runs.\x1b[2J")
    await chat.terminal.ask(message("x").address, question)
    assert "\nThe pump runs.<U+001B>[2J\npump {" in "".join(chat.shown)


async def test_what_cannot_be_seen_in_a_question_is_spelled_out() -> None:
    chat = Chat("what?", "n", plain=False)
    hidden = '{"path": "a' + "\u202etxt.\u200d" + r'\u001b"}'
    await chat.terminal.ask(message("x").address, Question("shell", hidden, "it may hurt"))
    assert r'shell {"path": "a<U+202E>txt.<U+200D>\u001b"}' in "".join(chat.shown)


async def test_a_question_without_input_left_has_no_answer() -> None:
    question = Question("pump", "{}", "it may hurt")
    assert await Chat(plain=False).terminal.ask(message("x").address, question) is Answer.NONE


async def test_a_pipe_is_never_asked() -> None:
    chat = Chat("y")
    question = Question("pump", "{}", "it may hurt")
    assert await chat.terminal.ask(message("x").address, question) is Answer.NONE
    assert chat.lines.prompts == []


async def test_asked_in_words_the_next_line_is_the_answer() -> None:
    chat = Chat("", " at seven ", plain=False)
    assert await chat.terminal.inquire(message("x").address, "When?\x1b[2J") == "at seven"
    assert chat.shown == ["\nWhen?[2J\n"]
    assert chat.lines.prompts == ["? ", "? "]


async def test_who_has_left_or_is_a_pipe_is_not_asked_in_words() -> None:
    with pytest.raises(ChannelRefused, match="has left"):
        await Chat(plain=False).terminal.inquire(message("x").address, "When?")
    chat = Chat("at seven")
    with pytest.raises(ChannelRefused, match="no person is here"):
        await chat.terminal.inquire(message("x").address, "When?")
    assert chat.lines.prompts == []


async def test_a_command_overtakes_also_while_an_answer_is_read() -> None:
    chat = Chat("go", "/estop", "at seven", plain=False)
    heard: list[str | None] = []

    async def deliver(inbound: Inbound) -> None:
        chat.received.append(inbound)
        if inbound.text == "go":
            heard.append(await chat.terminal.inquire(inbound.address, "When?"))
        await chat.terminal.send(answer_to(inbound, "done"))

    await chat.terminal.listen(deliver)
    assert [inbound.text for inbound in chat.received] == ["go", "/estop"]
    assert heard == ["at seven"]


async def test_an_answer_to_an_earlier_message_is_shown_as_it_comes() -> None:
    chat = Chat()
    await chat.terminal.send(Outbound(1, "terminal", "local", "late", "older"))
    assert chat.shown == ["late\n"]


class LinesWhenAsked:
    """A person who writes when a test says so."""

    def __init__(self) -> None:
        self.typed: asyncio.Queue[str | None] = asyncio.Queue()

    async def read(self, prompt: str) -> str | None:
        return await self.typed.get()

    def close(self) -> None:
        return


class TestBetweenPrompts:
    """What comes by itself while the person is at the prompt."""

    def setup_method(self) -> None:
        self.lines = LinesWhenAsked()
        self.shown: list[str] = []
        self.received: list[str] = []
        self.terminal = TerminalChannel(
            self.lines, self.shown.append, SteppedClock(), "> ", plain=False
        )

    async def deliver(self, inbound: Inbound) -> None:
        self.received.append(inbound.text)
        await self.terminal.send(answer_to(inbound, "done"))

    async def test_a_message_stands_above_the_prompt(self) -> None:
        listening = asyncio.create_task(self.terminal.listen(self.deliver))
        await asyncio.sleep(0)
        await self.terminal.send(Outbound(0, "terminal", "local", "The soil is dry.", ""))
        assert self.shown == ["\r\x1b[KThe soil is dry.\n> "]
        self.lines.typed.put_nowait(None)
        await listening

    async def test_the_next_line_answers_a_question_and_is_no_message(self) -> None:
        listening = asyncio.create_task(self.terminal.listen(self.deliver))
        await asyncio.sleep(0)
        asking = asyncio.create_task(
            self.terminal.ask(message("x").address, Question("pump", "{}", "r"))
        )
        await asyncio.sleep(0)
        self.lines.typed.put_nowait("perhaps")
        self.lines.typed.put_nowait("y")
        assert await asking is Answer.YES
        self.lines.typed.put_nowait("hello")
        self.lines.typed.put_nowait(None)
        await listening
        assert self.received == ["hello"]

    async def test_a_command_overtakes_the_question(self) -> None:
        listening = asyncio.create_task(self.terminal.listen(self.deliver))
        await asyncio.sleep(0)
        asking = asyncio.create_task(
            self.terminal.ask(message("x").address, Question("pump", "{}", "r"))
        )
        await asyncio.sleep(0)
        self.lines.typed.put_nowait("/estop")
        self.lines.typed.put_nowait("n")
        assert await asking is Answer.NO
        self.lines.typed.put_nowait(None)
        await listening
        assert self.received == ["/estop"]

    async def test_a_question_that_was_answered_elsewhere_takes_no_line(self) -> None:
        listening = asyncio.create_task(self.terminal.listen(self.deliver))
        await asyncio.sleep(0)
        asking = asyncio.create_task(
            self.terminal.ask(message("x").address, Question("pump", "{}", "r"))
        )
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        self.lines.typed.put_nowait("hello")
        self.lines.typed.put_nowait(None)
        await listening
        assert self.received == ["hello"]


async def test_what_comes_in_the_middle_of_an_answer_does_not_tear_it() -> None:
    chat = Chat("x", plain=False)

    async def deliver(inbound: Inbound) -> None:
        await chat.terminal.draft(inbound, "It ")
        chat.terminal.tell("The agent is gone.")
        await chat.terminal.draft(inbound, "It is")
        await chat.terminal.send(answer_to(inbound, "It is on."))

    await chat.terminal.listen(deliver)
    assert "".join(chat.shown) == "It \nThe agent is gone.\nIt is on.\n\n"
