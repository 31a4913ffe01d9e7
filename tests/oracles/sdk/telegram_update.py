"""An update of Telegram as any client reads it, in what can be compared."""

from typing import Any


def plain(update: Any) -> list[Any]:
    """Its number, what was said or pressed, by whom and where; both clients name fields alike."""
    if update.callback_query is not None:
        pressed = update.callback_query
        return [update.update_id, pressed.data, pressed.from_user.id, pressed.message.chat.id]
    message = update.message
    text = message.text or message.caption or ""
    return [update.update_id, text, message.from_user.id, message.chat.id]
