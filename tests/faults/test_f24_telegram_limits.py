"""F24: asked too often, too long, not parsed: every text arrives, no chat holds up another."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.channels.render.html import to_html_telegram
from agent.channels.render.splitter import split
from agent.channels.render.styled import utf16_units
from agent.messages import Inbound, Provenance
from tests.fakes.dispatching import Running
from tests.fakes.dispatching import running as dispatching
from tests.fakes.provider import EchoProvider
from tests.fakes.telegram_bot import Bot, listening
from tests.fakes.telegram_entities import parse, units
from tests.fakes.telegram_server import Fault
from tests.fakes.telegram_world import ANNA, BEN
from tests.waits import stays, wait_until

MARKS = ["**", "_", "`", "```\n", "\n\n", "\n", "- ", "> ", "[a](https://x.y)", "<b>", "&amp;", "|"]
WORDS = ["word", "שלום", "مرحبا", "你好", "👨‍👩‍👧‍👦", "🇩🇪", "e\u0301", "🏳️‍🌈", "x" * 300]
texts = st.lists(st.sampled_from(MARKS + WORDS) | st.text(max_size=20), max_size=60).map(" ".join)


@given(texts, st.integers(40, 200))
@settings(max_examples=60)
def test_every_part_is_within_the_limit_and_understood_by_the_platform(
    markdown: str, limit: int
) -> None:
    for part in split(markdown, limit, utf16_units):
        text, entities = parse(to_html_telegram(part))
        assert units(text) <= limit
        assert all(0 < one["length"] <= units(text) for one in entities)


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=80))
@settings(max_examples=60)
def test_no_character_is_lost_and_none_is_divided(words: list[str]) -> None:
    parts = split(" ".join(words), 350, utf16_units)
    shown = [parse(to_html_telegram(part))[0] for part in parts]
    assert "".join("".join(shown).split()) == "".join(words)
    for sign in ("👨‍👩‍👧‍👦", "🇩🇪", "e\u0301", "🏳️‍🌈"):
        assert sum(text.count(sign) for text in shown) == words.count(sign)


class Sent:
    """Answers handed to the delivery of an agent with this bot."""

    def __init__(self, bot: Bot, agent: Running) -> None:
        self.bot = bot
        self.agent = agent

    async def write(self, text: str, chat: int) -> None:
        message = await self.bot.server.world.write(text, chat)
        number = str(message["message_id"])
        now_s, who = self.agent.clock.wall_s(), str(chat)
        inbound = Inbound(number, "telegram", who, who, text, now_s, Provenance.OWNER)
        await self.agent.dispatcher.deliver(inbound, self.agent.tasks)


async def test_a_pause_of_one_chat_keeps_its_order_and_holds_up_no_other(tmp_path: Path) -> None:
    async with (
        listening(tmp_path, listens=False) as bot,
        dispatching(tmp_path, EchoProvider(), bot.channel) as agent,
    ):
        sent = Sent(bot, agent)
        bot.server.faults.append(Fault("sendMessage", retry_after_s=1, chat=ANNA))
        for text in ("one", "two", "three"):
            await sent.write(text, ANNA)
        await sent.write("hello", BEN)
        await wait_until(lambda: bot.server.world.shown(BEN))
        assert bot.server.world.shown(BEN) == ["echo: hello"]
        await wait_until(lambda: len(bot.server.world.shown()) == 3)
        assert bot.server.world.shown() == ["echo: one", "echo: two", "echo: three"]


async def test_what_is_refused_for_ever_holds_up_nothing(tmp_path: Path) -> None:
    async with (
        listening(tmp_path, listens=False) as bot,
        dispatching(tmp_path, EchoProvider(), bot.channel) as agent,
    ):
        sent = Sent(bot, agent)
        refused = Fault("sendMessage", refuses="Bad Request: CHAT_WRITE_FORBIDDEN", chat=ANNA)
        bot.server.faults.extend([refused] * 5)
        await sent.write("never", ANNA)
        await wait_until(lambda: len(bot.server.called("sendMessage")) >= 1)
        bot.server.faults.clear()
        await sent.write("after it", ANNA)
        await wait_until(bot.server.world.shown)
        assert bot.server.world.shown() == ["echo: after it"]


@pytest.mark.parametrize("fault", [{"html": 502}, {"cuts": True}, {"retry_after_s": 1}])
async def test_trouble_on_the_way_loses_no_answer(fault: dict[str, int], tmp_path: Path) -> None:
    async with (
        listening(tmp_path, listens=False) as bot,
        dispatching(tmp_path, EchoProvider(), bot.channel) as agent,
    ):
        bot.server.faults.append(Fault("sendMessage", **fault))
        await Sent(bot, agent).write("one", ANNA)
        await wait_until(bot.server.world.shown)
        await stays(lambda: bot.server.world.shown() == ["echo: one"], 0.05)
