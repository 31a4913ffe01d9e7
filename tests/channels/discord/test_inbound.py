"""Messages of Discord as the agent knows messages."""

from agent.channels.discord.events import DiscordMessage, DiscordSticker, DiscordUser
from agent.channels.discord.inbound import SHOWN, understood
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
