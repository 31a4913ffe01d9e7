"""Approval questions: the question to the owner, what counts as a yes, and what it allows.

A question is about one exact act, shown whole; what cannot be shown whole is refused. A yes is
spent by that act, right before it happens. A button on the device may say yes as well; for effects
that demand presence nothing else is a yes.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from agent.approvals.button import Presence, PresenceRule
from agent.approvals.records import CARRIES_KEY_TEXT, CallCase
from agent.channels.base import Answer, Question, YesBy, new_question_id
from agent.errors import BarnacleError
from agent.memory.base import FROM_CHAT
from agent.messages import Attachment, Effect, Provenance
from agent.security.access import RULE
from agent.security.act import canonical, pattern_hash
from agent.security.approvals import Grants, StandingApproval, StandingApprovals, span
from agent.security.policy import LIMIT, SPOKEN, Decision, Verdict, denied
from agent.system.activity import Activity
from agent.text.printable import printable_line, spelled_out
from agent.tools.base import Forecast

_log = logging.getLogger(__name__)

# A person has to find the device and read; later than this the world has moved on
QUESTION_TIMEOUT_S = 120.0
# A month of readings and a drawing take a Pi Zero some ten seconds
FORESIGHT_TIMEOUT_S = 45.0
# More than this is not read before it is answered
MAX_SHOWN_CHARS = 2000
# Of the address or file that a call comes from
MAX_SOURCE_CHARS = 200
_AT_THE_DEVICE = "press the button on the device to allow it"
_ONLY_AT_THE_DEVICE = f"a yes is not enough here: {_AT_THE_DEVICE}"
CHANGED_TEXT = 'a file that it runs has changed since you answered "always"'
_THE_SAME = "exactly this call"

Ask = Callable[[Question], Awaitable[Answer]]


class Granted(Decision, frozen=True):
    """An allowance that somebody gave, for the act that they were shown; spent before it."""

    case: CallCase
    question_id: str


class ApprovalQuestions:
    """Asks the owner, and keeps what the answers are for."""

    def __init__(
        self, approvals: StandingApprovals, presence: PresenceRule, activity: Activity
    ) -> None:
        self._approvals = approvals
        self._presence = presence
        self._activity = activity
        self._grants = Grants(approvals.clock)

    async def put(self, case: CallCase, decision: Decision, ask: Ask) -> Decision:
        """Ask the owner about a call, if the policy wants that, and return the decision."""
        is_at_device = case.effect in self._presence.demanded_for
        # An "always" is for what the call does: not for how often, not in place of a person, nor
        # for who is shown what
        is_for_once = decision.rule in {RULE, SPOKEN} or decision.rule.startswith(LIMIT)
        may_stand = case.circumstances.may_stand and not (is_at_device or is_for_once)
        shown = canonical(case.call.arguments_json)
        if len(spelled_out(f"{shown}{_words(case)}")) > MAX_SHOWN_CHARS:
            return denied("too-long", "it is too long to be shown whole, so it cannot be approved")
        if case.circumstances.holds_secret:
            return denied("secret", CARRIES_KEY_TEXT)
        act = await asyncio.to_thread(case.act)
        if may_stand and await asyncio.to_thread(self._stands, case):
            return self._granted(case, act, new_question_id(), "standing-approval")
        reason = f"it is {case.effect.value}" if is_at_device else decision.reason
        has_changed: bool = await asyncio.to_thread(self._has_changed, case)
        if has_changed:
            reason = f"{CHANGED_TEXT}; {reason}"
        forecast = await _foreseen(case)
        question = Question(
            case.call.name,
            shown,
            f"{reason}{_origin(case)}",
            "\n".join(filter(None, (_words(case), forecast.words))),
            _always(case) if may_stand else "",
            # Nothing that can hurt hangs on a word that may have meant something else
            yes_by=YesBy.ID if case.effect is Effect.HAZARD else YesBy.WORD,
            files=_files(forecast),
            effect=case.effect,
        )
        if is_at_device:
            return await self._ask_at_the_device(case, act, question, ask)
        return await self._ask(case, act, question, ask)

    async def spend(self, decision: Decision) -> None:
        """Use an allowance that was given, if it was, for the act that follows now.

        Raises:
            ApprovalVoid: it is another act than the one that was shown, or too late, or again.
        """
        if not isinstance(decision, Granted):
            return
        act = await asyncio.to_thread(decision.case.act)
        self._grants.spend(decision.question_id, act)

    async def _ask_at_the_device(
        self, case: CallCase, act: str, question: Question, ask: Ask
    ) -> Decision:
        button = self._presence.button
        if button.trouble:
            return denied("no-presence", f"it needs somebody at the device, but {button.trouble}")
        reason = f"{question.reason}, and {_ONLY_AT_THE_DEVICE}"
        question = replace(question, reason=reason, yes_by=YesBy.DEVICE)
        try:
            with self._activity.asking():
                async with asyncio.timeout(QUESTION_TIMEOUT_S):
                    answer = await first_answer(ask, question, button, only_button=True)
        except TimeoutError:
            return denied("no-presence", f"nobody pressed the button in {QUESTION_TIMEOUT_S:.0f} s")
        if answer is Answer.YES:
            return self._granted(case, act, question.question_id, "presence")
        return denied("owner-no", "the owner said no")

    async def _ask(self, case: CallCase, act: str, question: Question, ask: Ask) -> Decision:
        button, reason = self._presence.button, question.reason
        if not button.trouble:
            question = replace(question, reason=f"{reason}; you may also {_AT_THE_DEVICE}")
        try:
            with self._activity.asking():
                async with asyncio.timeout(QUESTION_TIMEOUT_S):
                    answer = await first_answer(ask, question, button)
        except TimeoutError:
            return denied("no-answer", f"nobody answered within {QUESTION_TIMEOUT_S:.0f} s")
        if answer is Answer.NO:
            return denied("owner-no", "the owner said no")
        if answer is Answer.NONE:
            return denied(
                "not-asked",
                f"it needs the owner's yes ({reason}), and nobody can be asked here; /new begins a "
                "conversation without what was read in this one",
            )
        if answer is Answer.ALWAYS and question.always:
            await asyncio.to_thread(self._keep, case, question.always)
        return self._granted(case, act, question.question_id, f"owner-{answer.value}")

    def _granted(self, case: CallCase, act: str, question_id: str, rule: str) -> Granted:
        self._grants.give(question_id, act)
        return Granted(Verdict.ALLOW, rule, _GIVEN.get(rule, _GIVEN_BY_WORD), case, question_id)

    def _stands(self, case: CallCase) -> bool:
        return self._approvals.covers([_kind_of(case)], case.provenance)

    def _has_changed(self, case: CallCase) -> bool:
        """Return whether "always" was said to the same words, when its files said other things."""
        if not case.circumstances.dependence.files:
            return False
        return self._approvals.knows(case.call.name, canonical(case.call.arguments_json))

    def _keep(self, case: CallCase, words: str) -> None:
        pattern = case.circumstances.pattern
        told = canonical(json.dumps(dict(pattern.fixed) if pattern else {}))
        self._approvals.add(
            StandingApproval(
                call=_kind_of(case),
                tool=case.call.name,
                arguments=told if pattern else canonical(case.call.arguments_json),
                until_s=self._approvals.end_s(),
                words=words,
                trust=case.provenance,
            )
        )


async def first_answer(
    ask: Ask, question: Question, button: Presence, *, only_button: bool = False
) -> Answer:
    """Return the first answer, by word or by button; a no always counts."""
    if button.trouble and not only_button:
        return await ask(question)
    asking = asyncio.ensure_future(ask(question))
    pressing = asyncio.ensure_future(button.pressed())
    try:
        await asyncio.wait({asking, pressing}, return_when=asyncio.FIRST_COMPLETED)
        if asking.done():
            answer = asking.result()
            says_yes = answer in (Answer.YES, Answer.ALWAYS)
            if answer is Answer.NO or (says_yes and not only_button):
                return answer
        # Said yes where that is not enough, or nobody can be asked: what is left is the button
        await pressing
        return Answer.YES
    finally:
        for task in (asking, pressing):
            task.cancel()
        await asyncio.wait({asking, pressing})


_GIVEN_BY_WORD = "the owner allowed it"
_GIVEN = {
    "presence": "the owner allowed it at the device",
    "standing-approval": 'the owner answered "always" earlier',
}


def _words(case: CallCase) -> str:
    """Return all that will happen: what the tool does, and what is shown to whom."""
    around = case.circumstances
    return "; it ".join(filter(None, (around.words, around.reach.words)))


async def _foreseen(case: CallCase) -> Forecast:
    """Return what would come of the call; what cannot be foreseen never keeps a question back."""
    try:
        async with asyncio.timeout(FORESIGHT_TIMEOUT_S):
            return await case.circumstances.foresee() or Forecast("")
    except TimeoutError:
        return Forecast("What it would do could not be foreseen: it took too long.")
    except BarnacleError as err:
        return Forecast(f"What it would do could not be foreseen: {err}.")
    except Exception:  # noqa: BLE001 - a fault of the forecast must not keep the owner from answering
        _log.exception("approvals: forecast failed (tool=%s)", case.call.name)
        return Forecast("What it would do could not be foreseen; the log says why.")


def _files(forecast: Forecast) -> tuple[Attachment, ...]:
    picture = forecast.picture
    return () if picture is None else (Attachment(str(picture), "image/png", picture.name),)


def _kind_of(case: CallCase) -> str:
    """Return what an "always" covers: the tool's pattern for this call, or the call itself."""
    around = case.circumstances
    if around.pattern is None:
        return case.act()
    return pattern_hash(case.call.name, around.pattern, around.dependence)


def _always(case: CallCase) -> str:
    pattern = case.circumstances.pattern
    words = f"{pattern.words if pattern else _THE_SAME}, for {span()}"
    if case.provenance is Provenance.OWNER:
        return f"{words}, on your own word"
    return f"{words}, also when text of {case.provenance.name.lower()} origin asks for it"


def _origin(case: CallCase) -> str:
    """Return the page or file that the call comes from; empty for the conversation itself."""
    source = printable_line(case.circumstances.source, MAX_SOURCE_CHARS)
    is_told = case.provenance < Provenance.OWNER and source and source != FROM_CHAT
    return f" (from {source})" if is_told else ""
