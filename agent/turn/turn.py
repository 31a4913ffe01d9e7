"""One turn: the model and the tools alternate until there is an answer in text.

Every call passes the gate. What a tool or the gate says goes back to the model; it is never
raised. The trust of the turn falls with everything that is read, and never rises.
"""

import contextlib
import logging
from functools import cached_property, partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.approvals.gate import Gate
from agent.approvals.records import CallCircumstances, parts_of, texts_of
from agent.errors import BadArguments, ContextOverflow, ProviderError
from agent.messages import ChatMessage, Effect, ToolCall, ToolResult
from agent.passage import Passage, Provenance, echo
from agent.providers.base import ChatResponse, Provider
from agent.security.policy import Verdict
from agent.security.redact import Redactor
from agent.system import logs
from agent.tools.base import AnyTool, Arguments, ToolContext
from agent.tools.registry import Registry, ToolSource
from agent.turn.execution import execute, for_model, lowered, shown_by
from agent.turn.progress import TurnProgress, TurnScope
from agent.turn.seams import TurnSeams

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.tools.results import Results
    from agent.tools.selection import ToolSelection
    from agent.turn.guidance import Guidance
    from agent.turn.outcome import TurnOutcome

_log = logging.getLogger(__name__)

# More calls in one answer come from a confused model; each of them is told that it was not run
MAX_CALLS_PER_ANSWER = 64

# Ends a text that was cut off
_CUT_MARK = " [cut off]\n"


class TurnRunner:
    """Runs turns with one provider, one registry and one gate.

    Args:
        results: makes what cuts long results short and keeps the whole of them.
        redactor: takes the secrets out of what a tool or a service said, before anybody reads it.
    """

    def __init__(
        self,
        provider: Provider,
        registry: Registry,
        gate: Gate,
        max_iterations: int,
        results: "Callable[[], Results] | None" = None,
        redactor: Redactor | None = None,
    ) -> None:
        self.provider = provider
        self.registry = registry
        self._gate = gate
        self._max_iterations = max_iterations
        self._open_results = results
        self._redactor = redactor or Redactor()

    @property
    def gate(self) -> Gate:
        return self._gate

    async def run(
        self,
        messages: tuple[ChatMessage, ...],
        context: ToolContext,
        word: Provenance,
        seams: TurnSeams,
        model: str | None = None,
        within: TurnScope | None = None,
    ) -> "TurnOutcome":
        """Return the answer to the last of `messages`; it has text even if everything failed.

        Args:
            context: has the lowest trust of `messages`.
            word: the trust of the last one alone.
            model: name of the model; None for the configured one.
            within: the outer turn; None if this is the outermost.
        """
        progress = _begun(messages, context, word, within or TurnScope())
        progress.model = model
        for left in reversed(range(self._max_iterations)):
            try:
                progress, response = await self._answer_of(progress, seams)
            except ProviderError as err:
                progress.was_too_long |= isinstance(err, ContextOverflow)
                _log.warning("turn: no answer (provider=%s, error=%s)", self.provider.name, err)
                said_so = f"I got no answer from the language model: {err}"
                return replace(self._finished(progress, said_so), is_answer=False)
            if response is None:
                continue
            if not response.tool_calls:
                if left and progress.guidance.is_only_announced(response):
                    progress.shown.append(f"{response.text}\n")
                    continue
                return self._finished(progress, _last_words(response))
            if stopped := await self._use_tools(response, progress, seams):
                return self._finished(progress, stopped)
        return self._finished(
            progress,
            f"I stopped after {self._max_iterations} rounds of tool use without a final answer. "
            "Ask me to go on if that is what you want.",
        )

    async def use(
        self, call: ToolCall, context: ToolContext, seams: TurnSeams, turn: str
    ) -> ToolResult:
        """Run one call that no model of ours has made; the gate is the same."""
        guidance = _new_guidance()
        use = partial(self._use_tool, context=context, seams=seams, guidance=guidance, turn=turn)
        with logs.about(tool=call.name):
            result = await seams.hooks.around(call, use)
        return result.saying(self._redactor.redact(result.text))

    def limited_to(self, tools: ToolSource, max_iterations: int) -> "TurnRunner":
        """One with fewer tools, behind the same gate."""
        return TurnRunner(
            self.provider,
            self.registry.of(tools),
            self._gate,
            max_iterations,
            self._open_results,
            self._redactor,
        )

    @cached_property
    def _shelf(self) -> "ToolSelection":
        from agent.tools.selection import ToolSelection  # noqa: PLC0415 - the first turn needs it, no start

        return ToolSelection(self.registry)

    @cached_property
    def _results(self) -> "Results | None":
        return self._open_results() if self._open_results else None

    async def _answer_of(
        self, progress: TurnProgress, seams: TurnSeams
    ) -> tuple[TurnProgress, ChatResponse | None]:
        """Return the model's next answer and the progress that it belongs to.

        None: the model is asked once more, without memories below the owner's trust.
        """
        try:
            response = await self._ask_model(progress.said, progress, seams)
        except ProviderError:
            if progress.checked is None:
                raise
            return progress.checked
        progress.is_fresh &= response.heeds_only_this_turn
        progress.was_too_long |= response.was_shortened
        progress.is_by_model &= not response.is_by_rules
        if response.thoughts and seams.muse is not None:
            await seams.muse(response.thoughts, self._redactor)
        if progress.plain is None and progress.checked is None:
            return progress, response
        from agent.turn.cross_check import next_step  # noqa: PLC0415 - few turns recall such memories

        return next_step(progress, response, self._acts)

    async def _ask_model(
        self, messages: tuple[ChatMessage, ...], progress: TurnProgress, seams: TurnSeams
    ) -> ChatResponse:
        model = progress.model
        window = self.provider.capabilities(model).context_tokens
        from agent.turn.window import compose  # noqa: PLC0415 - a turn needs it, no start

        wanted = await compose(messages, self._shelf, window)
        progress.was_too_long |= wanted.is_shortened
        for spec in wanted.request.tools:
            progress.read(spec.about)
        conversation, person = progress.whole.conversation, progress.speaker
        request = replace(wanted.request, model=model, conversation=conversation, person=person)
        pieces: list[str] = []
        try:
            # Closed here, not by the garbage collector: a connection hangs on it
            async with contextlib.aclosing(self.provider.stream(request)) as items:
                async for item in items:
                    if isinstance(item, ChatResponse):
                        return item
                    pieces.append(item.text)
                    if progress.checked is not None:
                        continue
                    shown = self._redactor.redact_known("".join([*progress.shown, *pieces]))
                    await seams.on_text(shown, progress.whole.provenance, bool(progress.added))
        except ProviderError:
            # Text that was shown stays, marked as cut off
            if pieces:
                progress.shown.append("".join([*pieces, _CUT_MARK]))
            raise
        raise ProviderError("the answer ended in the middle")

    async def _use_tools(
        self, response: ChatResponse, progress: TurnProgress, seams: TurnSeams
    ) -> str:
        """Run the calls; return why the turn ends with them, empty if it goes on."""
        guidance = progress.guidance
        guidance.begin_round()
        # Every call gets an answer: services want one to each, and the model is to know
        calls, surplus = response.tool_calls, response.tool_calls[MAX_CALLS_PER_ANSWER:]
        # What the model said was made of what counts in this turn already
        said_now = Passage(response.text, progress.whole.provenance, "")
        progress.added.append(self._kept(ChatMessage.assistant(said_now, calls, response.echo)))
        if response.text:
            progress.shown.append(f"{response.text}\n")
        for call in calls[:MAX_CALLS_PER_ANSWER]:
            context = self._leading_on(progress, seams)
            turn = progress.within.turn
            use = partial(
                self._use_tool, context=context, seams=seams, guidance=guidance, turn=turn
            )
            with logs.about(tool=call.name):
                result = await seams.hooks.around(call, use)
                said = "done" if result.success else f"failed: {result.text}"
                _log.info("%s: %s", call.name, said)
            held = _holds_private(self._shelf.find(call.name), call, context)
            progress.read(result.words, held=held)
            words = for_model(result)
            words = words.saying(self._redactor.redact(words.text))
            progress.added.append(ChatMessage.tool(call, words, is_error=not result.success))
            guidance.note(call, result, changes=self._acts(call))
        progress.added += [guidance.surplus(call, MAX_CALLS_PER_ANSWER) for call in surplus]
        told, stopped = guidance.end_round()
        if told:
            last = progress.added[-1]
            progress.added[-1] = last.saying(f"{last.text}\n({told})")
        return stopped

    def _kept(self, message: ChatMessage) -> ChatMessage:
        """As a history may have it; what is done is what the model wrote."""
        hide = self._redactor.redact_known
        calls = tuple(
            replace(call, arguments_json=hide(call.arguments_json)) for call in message.tool_calls
        )
        return replace(message.saying(hide(message.text)), tool_calls=calls)

    def _leading_on(self, progress: TurnProgress, seams: TurnSeams) -> ToolContext:
        """Return the context of a tool, with the ways to the person and to another agent."""
        from agent.turn.delegation import Delegation  # noqa: PLC0415 - a tool needs it

        context = progress.fresh if progress.is_fresh else progress.whole
        nested = Delegation(self, context, seams, progress.within)
        inquire = None if seams.inquire is None else progress.hearing(seams.inquire)
        follows = not self.gate.looks_at("url")
        return replace(
            context,
            nested=nested,
            inquire=inquire,
            follows_redirects=follows,
            denies_url=self.gate.denies_url,
        )

    def _finished(self, progress: TurnProgress, text: str) -> "TurnOutcome":
        from agent.turn.outcome import TurnOutcome  # noqa: PLC0415 - a turn needs it, no start

        text = self._redactor.redact(text + progress.guidance.postscript())
        answer = self._redactor.redact("".join([*progress.shown, text]))
        context = progress.fresh if progress.is_fresh else progress.whole
        said = Passage(text, context.provenance, "")
        return TurnOutcome(
            answer,
            (*progress.added, ChatMessage.assistant(said)),
            context.provenance,
            context.source,
            was_too_long=progress.was_too_long,
            is_by_model=progress.is_by_model,
            is_reply=progress.is_reply,
            is_recalled=progress.is_recalled,
        )

    def _acts(self, call: ToolCall) -> bool:
        tool = self._shelf.find(call.name)
        return tool is not None and tool.effect is not Effect.READ

    async def _use_tool(
        self,
        call: ToolCall,
        context: ToolContext,
        seams: TurnSeams,
        guidance: "Guidance",
        turn: str,
    ) -> ToolResult:
        tool = self._shelf.find(call.name)
        if tool is None:
            return guidance.unknown(call, self._shelf.nearest(call.name))
        try:
            arguments = tool.parse(call.arguments_json)
        except BadArguments as err:
            return guidance.unfit(call, err, tool.reads)
        effect, trust = tool.effect_of(arguments), context.provenance
        holds_secret = self._redactor.knows(f"{call.arguments_json} {arguments}")
        around = replace(_circumstances(tool, arguments, context, turn), holds_secret=holds_secret)
        decision = await self._gate.admit(call, effect, trust, seams.ask, around)
        if decision.verdict is not Verdict.ALLOW:
            # It may name what was read; that counts in this turn already
            why = echo(f"not allowed ({decision.rule}): {decision.reason}")
            return ToolResult.failed(why)
        if seams.notice is not None:
            await seams.notice(call, self._redactor)
        confirm = partial(self._gate.confirm, decision, effect)
        result = await execute(tool, arguments, context, seams.before_effect, confirm)
        # Before it is told, kept or recorded
        result = result.saying(self._redactor.redact(result.text))
        await self._gate.came_of(call, effect, trust, around, result)
        return await self._results.bounded(tool, result) if self._results else result


def _is_asked(messages: tuple[ChatMessage, ...]) -> bool:
    from agent.turn.outcome import is_asked  # noqa: PLC0415 - a turn needs it, no start

    return is_asked(messages)


def _begun(
    messages: tuple[ChatMessage, ...], context: ToolContext, word: Provenance, within: TurnScope
) -> TurnProgress:
    # Whatever the caller says of them: what a model is shown counts
    fresh = lowered(replace(context, provenance=word), shown_by(messages[-1]))
    plain = _without_memories(messages, context, fresh.provenance)
    for message in messages:
        context = lowered(context, shown_by(message))
    progress = TurnProgress(messages, context, fresh, _new_guidance(), within=within, plain=plain)
    progress.is_reply = _is_asked(messages)
    # What another agent or an untrusted message says is nobody's own word
    is_own = within.depth == 0 and fresh.provenance >= Provenance.USER
    progress.speaker = context.person if is_own else ""
    return progress


def _without_memories(
    messages: tuple[ChatMessage, ...], context: ToolContext, word: Provenance
) -> ToolContext | None:
    if not any(message.is_recalled for message in messages):
        return None
    from agent.turn.cross_check import trust_without_memories  # noqa: PLC0415 - few turns need it

    return trust_without_memories(messages, context, word)


def _new_guidance() -> "Guidance":
    from agent.turn.guidance import Guidance  # noqa: PLC0415 - the first turn needs it

    return Guidance()


def _last_words(response: ChatResponse) -> str:
    from agent.turn.guidance import last_words  # noqa: PLC0415 - the first turn needs it, no start

    return last_words(response)


def _holds_private(tool: AnyTool | None, call: ToolCall, context: ToolContext) -> bool:
    from agent.approvals.reach import holds_private  # noqa: PLC0415 - a call needs it, no start

    return holds_private(tool, call, context)


def _circumstances(
    tool: AnyTool, arguments: Arguments, context: ToolContext, turn: str
) -> CallCircumstances:
    from agent.approvals.reach import reach_of  # noqa: PLC0415 - a call needs it, no start

    return CallCircumstances(
        context.person,
        context.conversation,
        context.source,
        turn,
        texts_of(arguments),
        tool.in_words(arguments),
        tool.binds_to(arguments),
        tool.always_for(arguments),
        tool.stands(arguments),
        reach=reach_of(tool, arguments, context),
        is_spoken=context.is_spoken,
        foresee=partial(tool.foresee, arguments),
        parts=parts_of(arguments),
        places=tool.opens(arguments),
    )
