"""Address of a gateway, checked: the token goes only to the platform's own hosts."""

from urllib.parse import urlsplit

from agent.errors import ChannelUnavailable

MS_PER_S = 1000


def told_address(told: object, name: str, base_url: str) -> str:
    """Return the gateway's address from `/gateway/bot`.

    Args:
        name: of the platform, for people.
        base_url: of its other calls.

    Raises:
        ChannelUnavailable: there is none, or no session may be begun now.
    """
    fields = told if isinstance(told, dict) else {}
    url, limit = fields.get("url"), fields.get("session_start_limit")
    if isinstance(limit, dict) and limit.get("remaining") == 0:
        after_ms = limit.get("reset_after")
        wait_s = after_ms / MS_PER_S if isinstance(after_ms, int) else None
        raise ChannelUnavailable(
            f"the bot has started too many sessions with {name} today", retry_after_s=wait_s
        )
    return checked(url if isinstance(url, str) else "", base_url)


def checked(url: str, base_url: str) -> str:
    """Return the address if the token may go there.

    Raises:
        ChannelUnavailable: it is none.
    """
    try:
        place = urlsplit(url)
        is_one = bool(place.hostname)
    except ValueError:
        is_one = False
    schemes = {"wss"} if base_url.startswith("https:") else {"ws", "wss"}
    if not is_one or place.scheme not in schemes:
        raise ChannelUnavailable("the gateway's address cannot be trusted")
    return url
