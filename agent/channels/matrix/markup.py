"""Text format of Matrix, and its split into events."""

import re

from agent.channels.matrix.client import encoded

# Twice as text, once as HTML and a third more where it is encrypted, it is below an event's 64 KB
MAX_PART_BYTES = 8000
# What is above is sent without its HTML
MAX_CONTENT_BYTES = 32_000
_BLOCKS = re.compile(r"(<pre>.*?</pre>)", re.DOTALL)


def content_of(markdown: str) -> dict[str, object]:
    """Return the event content of a text, with styles if it has any."""
    from agent.channels.render.html import to_html_telegram  # noqa: PLC0415 - no start needs it
    from agent.channels.render.plain import to_plain  # noqa: PLC0415 - as above

    told: dict[str, object] = {"msgtype": "m.text", "body": to_plain(markdown), "m.mentions": {}}
    # Other tags than Telegram's would be allowed; lines end by one here
    pieces = _BLOCKS.split(to_html_telegram(markdown))
    html = "".join(
        piece if number % 2 else piece.replace("\n", "<br>") for number, piece in enumerate(pieces)
    )
    styled = {**told, "format": "org.matrix.custom.html", "formatted_body": html}
    return styled if len(encoded(styled)) <= MAX_CONTENT_BYTES else told


def edit_of(event_id: str, content: dict[str, object]) -> dict[str, object]:
    """Return the content that replaces an event's."""
    about = {"rel_type": "m.replace", "event_id": event_id}
    # For programs that know no edits
    fallback = {"msgtype": "m.text", "body": f"* {content['body']}", "m.mentions": {}}
    return {**fallback, "m.new_content": content, "m.relates_to": about}


def placed(
    content: dict[str, object], answered: str, thread: str | None, *, is_group: bool
) -> dict[str, object]:
    """Return the content in its thread; in a group it shows what it answers."""
    reply = {"m.in_reply_to": {"event_id": answered or thread}}
    if thread:
        about = {"rel_type": "m.thread", "event_id": thread, "is_falling_back": True, **reply}
        return {**content, "m.relates_to": about}
    return {**content, "m.relates_to": reply} if is_group and answered else content


def parts(markdown: str) -> tuple[str, ...]:
    from agent.channels.render.splitter import split  # noqa: PLC0415 - no start needs them
    from agent.channels.render.styled import utf8_bytes  # noqa: PLC0415 - as above

    return split(markdown, MAX_PART_BYTES, utf8_bytes)


def first_part(markdown: str) -> str:
    """As much of a text that still grows as one event shows."""
    return parts(markdown[: 2 * MAX_PART_BYTES])[0]
