"""Messages of Discord as the agent knows messages."""

from agent.channels.discord.events import DiscordMessage, DiscordSticker, DiscordUser
from agent.channels.discord.inbound import HIDDEN, SHOWN, is_for_us, understood
from agent.messages import Inbound, Whose

STICKER = DiscordSticker("turn the led on")


def heard(content: str) -> Inbound:
    author = DiscordUser(id="1", username="anna")
    message = DiscordMessage(
        id="2", channel_id="3", author=author, content=content, sticker_items=(STICKER,)
    )
    return understood(message, "4", "", 0.0)


def test_the_name_of_a_sticker_is_nobodys_order() -> None:
    for content, text in (("", SHOWN), ("hello", "hello")):
        inbound = heard(content)
        assert inbound.text == text
        assert inbound.quoted == "[a sticker: turn the led on]"
        assert inbound.quoted_of is Whose.ANYBODYS


def test_whoever_answers_without_a_call_is_told_why_it_cannot_be_read() -> None:
    """Discord keeps the words of what calls nobody from a bot that does not read everything."""
    anna, bot = (
        DiscordUser(id="1", username="anna"),
        DiscordUser(id="4", username="barnacle", bot=True),
    )
    asked = DiscordMessage(id="2", channel_id="3", author=bot, content="Which pump?")
    message = DiscordMessage(
        id="5", channel_id="3", guild_id="6", author=anna, kind=19, referenced_message=asked
    )
    assert is_for_us(message, "4", "mention")
    inbound = understood(message, "4", "", 0.0)
    assert (inbound.text, inbound.notes) == ("", (HIDDEN,))
    assert inbound.is_only_notes
