"""How many tokens a text is for a model, roughly and rather too many than too few.

No tokenizer is asked: each service has its own, and a history needs no exact number.
"""

from agent.messages import ChatMessage, Role

# English prose takes four characters a token; JSON and code take fewer
PROSE_CHARS = 4.0
CODE_CHARS = 3.0
# Other scripts, in bytes of UTF-8: two or three letters of Cyrillic, one sign of Chinese
OTHER_BYTES = 3.0
# Role, separators and call ids of one message
MESSAGE_TOKENS = 6


def tokens_of_text(text: str, chars_per_token: float = PROSE_CHARS) -> int:
    """Of a text in any script."""
    total = len(text.encode("utf-8", "replace"))
    ascii_chars = total if text.isascii() else len(text.encode("ascii", "ignore"))
    return int(ascii_chars / chars_per_token + (total - ascii_chars) / OTHER_BYTES) + 1


def tokens_of(message: ChatMessage) -> int:
    """Of a message with its calls; pictures are counted where they are loaded."""
    is_prose = message.role is not Role.TOOL
    count = MESSAGE_TOKENS + tokens_of_text(message.text, PROSE_CHARS if is_prose else CODE_CHARS)
    for call in message.tool_calls:
        count += MESSAGE_TOKENS + tokens_of_text(call.name + call.arguments_json, CODE_CHARS)
    return count
