"""Probe of an app, without listening."""

from agent.channels.slack.api import SlackApi
from agent.printable import printable_line

# The platform's names have 80
MAX_NAME_CHARS = 80


async def who(api: SlackApi) -> str:
    """Return the app's name and workspace.

    Raises:
        ChannelError: it cannot be used, or not now.
    """
    me = await api.call("auth.test", {})
    name, user, team = (
        printable_line(str(me.get(key) or ""), MAX_NAME_CHARS)
        for key in ("user", "user_id", "team")
    )
    return f"@{name} (id {user}) is in {team}"


async def can_listen(api: SlackApi) -> None:
    """Return where the other token lets the app open connections of its own.

    Raises:
        ChannelError: it does not, or not now.
    """
    # An address that nobody connects to is forgotten there
    await api.socket_url()
