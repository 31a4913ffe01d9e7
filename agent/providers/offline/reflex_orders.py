"""Orders about a reflex that a board has: let it rest, act again, or forget it.

They count only as the whole of a message, in the words of the vocabulary, and the name is taken as
it was said: nothing else is read out of it.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from agent.providers.offline.lexicon import lexicon
from agent.providers.offline.pieces import Analysis
from agent.providers.offline.plan import (
    MAX_OPTIONS,
    CallDraft,
    Need,
    Reason,
    ReplyOption,
    Step,
    settle,
    step_of,
)
from agent.providers.offline.toolbox import Choice, Toolbox, name_of

# The tool for each order, and what it takes beside the name
_TOOLS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "pause": ("reflex_pause", {"paused": True}),
    "resume": ("reflex_pause", {"paused": False}),
    "delete": ("reflex_delete", {}),
}
_NAME = "{name}"
_NAME_FORM = r"(?P<name>[a-z][a-z0-9_]{0,22})"
_ENDS = " .!。！"
# From here on a script needs no spaces
_WIDE = "\u1100"


def about_reflexes(analysis: Analysis, box: Toolbox) -> Step | None:
    """Return the step for an order about one reflex, by its name."""
    said = analysis.text.strip(_ENDS).lower()
    for order, forms in _forms(analysis.code).items():
        found = next((match for form in forms if (match := form.fullmatch(said))), None)
        if found is not None:
            return _ordered(order, found["name"], box)
    return None


def _ordered(order: str, name: str, box: Toolbox) -> Step | None:
    suffix, more = _TOOLS[order]
    drafts = [
        CallDraft(profile, {"name": name, **more})
        for profile in box.profiles
        if profile.name.endswith(suffix) and not profile.name.startswith("mcp_")
    ]
    if len(drafts) < 2:  # noqa: PLR2004 - of one board nobody has to be asked which
        return step_of((settle(drafts[0]),)) if drafts else None
    return step_of((Need(Reason.WHICH, tuple(map(_option, drafts[:MAX_OPTIONS]))),))


def _option(draft: CallDraft) -> ReplyOption:
    """Return the option of one board, by the board's name."""
    board = draft.profile.name.removesuffix("_pause").removesuffix("_delete")
    board = board.removesuffix("reflex").strip("_") or "board"
    return ReplyOption(Choice(board, board, name_of(board)), (draft,))


@cache
def _forms(code: str) -> Mapping[str, Sequence[re.Pattern[str]]]:
    table: Mapping[str, Sequence[str]] = lexicon(code).wording["reflexes"]
    return {order: [_form(said) for said in table[order]] for order in _TOOLS}


def _form(said: str) -> re.Pattern[str]:
    """Return the expression of a sentence, in which a wide character needs no space beside it."""
    words = said.lower().split()
    parts = [_NAME_FORM if word == _NAME else re.escape(word) for word in words]
    expression = parts[0]
    for before, word, part in zip(words, words[1:], parts[1:], strict=False):
        is_wide = max(before[-1], word[0]) >= _WIDE
        expression += (r"\s*" if is_wide else r"\s+") + part
    return re.compile(expression)
