"""Drafts on Signal, as messages that are edited.

Signal tells people that a message was edited and takes few edits of one, so a draft begins late
and grows in larger and larger steps. It becomes the answer's first part, or is taken back.
"""

from pathlib import Path

from agent.channels.drafts import AnswerDraft, Drafts
from agent.channels.signal.ids import parameters_of
from agent.channels.signal.writer import SignalWriter, first_part
from agent.system.clock import Clock

# Most answers are there by then
FIRST_S = 3.0
# A message may be edited ten times within a day; the last edit is the answer
MAX_EDITS = 8
# The first steps are short, and eight of them reach beyond the longest turn
INTERVAL_S = 3.0
GROWTH = 1.6


class SignalDrafts(Drafts):
    """Drafts of one account."""

    first_s = FIRST_S

    def __init__(self, letters: SignalWriter, folder: Path, clock: Clock) -> None:
        super().__init__(folder, clock)
        self._letters = letters

    def _is_shown_out(self, draft: AnswerDraft) -> bool:
        # Nobody knows how often the last run edited it: what is left of that is the answer's
        return draft.is_left or draft.edits >= MAX_EDITS

    def _interval_s(self, draft: AnswerDraft) -> float:
        return INTERVAL_S * GROWTH**draft.edits

    async def _put(self, draft: AnswerDraft, text: str) -> None:
        place = parameters_of(draft.inbound.reply_target)
        edited = {"editTimestamp": int(draft.message_id)} if draft.message_id else {}
        timestamp_ms = await self._letters.put({**place, **edited}, first_part(text))
        # Edits name the first of them
        draft.message_id = draft.message_id or (str(timestamp_ms) if timestamp_ms else "")
