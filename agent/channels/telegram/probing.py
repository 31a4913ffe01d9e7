"""Probe of a bot, without listening: nobody's poll is ended by it."""

from agent.channels.telegram.api import TelegramApi
from agent.errors import ChannelRefused
from agent.printable import printable_line

# The platform's names have 32
MAX_NAME_CHARS = 64


async def probe(api: TelegramApi) -> str:
    """Return the bot's name and how it receives, in a sentence.

    Raises:
        ChannelError: it cannot be used, or not now.
    """
    me = await api.call("getMe", {})
    hook = await api.call("getWebhookInfo", {})
    name = printable_line(str(me.get("username", "")), MAX_NAME_CHARS)
    if hook.get("url"):
        raise ChannelRefused(
            f"a webhook is set for @{name}, so that nothing comes here: delete it (method "
            "deleteWebhook), or use a bot of your own for this device"
        )
    in_groups = (
        "reads all of its groups"
        if me.get("can_read_all_group_messages")
        else ("in groups it is shown what calls it by name")
    )
    return f"@{name} is there; {in_groups}"
