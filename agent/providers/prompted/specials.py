"""Special tokens of models in a text: thoughts, the end of a turn, and somebody else's turn.

A server with the model's own template takes them out. Where it has another template they arrive as
text.
"""

import enum
import re
from typing import Final

from msgspec import Struct


class Special(enum.Enum):
    """Meaning of a special token."""

    # A thought begins
    THOUGHT = "thought"
    # A thought ends
    THOUGHT_END = "thought end"
    # The model's turn is over; whatever follows is made up
    TURN_END = "turn end"
    # It says nothing
    FILLER = "filler"


class FoundSpecial(Struct, frozen=True):
    """Special token at a place, and where it ends."""

    special: Special
    end: int


_BEGINNINGS: Final = (
    *("<think>", "<thinking>", "<thought>", "<reasoning>", "<seed:think>", "[THINK]", "◁think▷"),
    *("<mm:think>", "<|think:start|>", "<|open|>think<|sep|>"),
    *("<|START_THINKING|>", "<|begin_of_thought|>", "<|inner_prefix|>"),
    *("<|channel>thought", "<|thought_start|>"),
)
_ENDS: Final = (
    *("</think>", "</thinking>", "</thought>", "</reasoning>", "</seed:think>", "[/THINK]"),
    *("</mm:think>", "<|think:end|>", "<|close|>think<|sep|>"),
    *("◁/think▷", "<|END_THINKING|>", "<|end_of_thought|>", "<|inner_suffix|>"),
    *("<channel|>", "<|thought_end|>"),
)
_TURN_ENDS: Final = (
    *("<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|endoftext|>", "<|end_of_text|>"),
    *("<turn|>", "<|turn>", "<|eot|>", "<|header_start|>", "<seed:eos>", "<seed:bos>"),
    *("[|endofturn|]", "[|user|]", "<|im_user|>", "<|start_of_role|>"),
    *("<end_of_turn>", "<|END_OF_TURN_TOKEN|>", "<｜end▁of▁sentence｜>", "<|end_of_role|>"),
    *("<|im_start|>", "<|start_header_id|>", "<start_of_turn>", "<|user|>", "<|observation|>"),
    *("<|START_TOOL_RESULT|>", "[TOOL_RESULTS]", "[INST]", "<｜tool▁outputs▁begin｜>"),
    *("[e~[", "]~b]", "<|close|>message<|sep|>", "<|end_of_msg|>"),
    *("<｜User｜>", "<start_function_response>", "<|tool_response>"),
)
_FILLERS: Final = (
    *("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|begin_of_solution|>", "<|end_of_solution|>"),
    *("<|assistant|>", "<｜Assistant｜>", "<|begin_of_text|>", "]~!b["),
    *("<|open|>response<|sep|>", "<|close|>response<|sep|>"),
)
_ALL: Final = {
    **dict.fromkeys(_BEGINNINGS, Special.THOUGHT),
    **dict.fromkeys(_ENDS, Special.THOUGHT_END),
    **dict.fromkeys(_TURN_ENDS, Special.TURN_END),
    **dict.fromkeys(_FILLERS, Special.FILLER),
}
_TOKEN = re.compile("|".join(map(re.escape, sorted(_ALL, key=len, reverse=True))))
END_OF_THOUGHT = re.compile(
    r"</(?:think|thinking|thought|reasoning|(?:seed|mm):think)\s{0,20}>|"
    + "|".join(map(re.escape, sorted(_ENDS, key=len, reverse=True)))
)
# First characters of any of them
STARTS: Final = "<[◁"
_MOST_CHARS = max(map(len, _ALL))
# Each piece of an answer asks for them at its end
_PREFIXES = frozenset(one[:end] for one in _ALL for end in range(len(one) + 1))


def special_at(text: str, place: int) -> FoundSpecial | None:
    """Return the special token that begins at `place`; None if none does."""
    token = _TOKEN.match(text, place)
    return FoundSpecial(_ALL[token[0]], token.end()) if token else None


def before_turn_end(text: str) -> str:
    """Return the text up to the first token that ends the model's turn."""
    end = next((one for one in _TOKEN.finditer(text) if _ALL[one[0]] is Special.TURN_END), None)
    return text[: end.start()] if end else text


def may_become_special(text: str, place: int) -> bool:
    """Return true if the rest of the text is a beginning of a special token."""
    rest = text[place : place + _MOST_CHARS]
    return place + len(rest) == len(text) and rest in _PREFIXES
