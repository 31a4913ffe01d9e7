"""Ollama as a wire format: lines of JSON, calls whole and without ids, a window of a said size."""

import json
import re

from agent.errors import ContextOverflow
from agent.providers import edge, failures
from agent.providers.answer import Answer, Note
from agent.providers.base import Capabilities, ChatRequest, Stop, Usage
from agent.providers.ollama import body, shape
from agent.providers.ollama.body import Manner
from agent.providers.ollama.lines import LineSplitter
from agent.providers.wire import Post, Sampling, Splitter, ToldError, Wire

# Nothing worth having is said in less; a prompt that was cut to the window leaves none of it
LEAST_ROOM_TOKENS = 16

_STOPS = {"length": Stop.LENGTH}
# By their names alone: what a model can do is not told with its answers
_SEEING = re.compile(
    r"llava|vision|moondream|minicpm-v|gemma[34]|llama4|mistral-small3|[-.0-9]vl\b", re.IGNORECASE
)
# Where thinking is kept among an answer's notes, before the calls
_THINKING = 0


class OllamaWire(Wire[Manner]):
    """`POST chat`, streamed.

    Args:
        context_tokens: the size of the window that is asked for.
    """

    name = "ollama"
    models_path = "tags"

    def __init__(self, context_tokens: int) -> None:
        self._context_tokens = context_tokens

    def first_manner(self, host: str, model: str) -> Manner:
        return Manner()

    def other_manner(self, manner: Manner, refusal: failures.Refusal) -> Manner | None:
        return manner.after_refusal(failures.named_parameter(refusal.body))

    def write(self, request: ChatRequest, sampling: Sampling, manner: Manner) -> Post:
        written = body.encode(request, sampling, manner, self.name, self._context_tokens)
        return Post("chat", written)

    def read(self, event: str, answer: Answer) -> str:
        # A stream that a proxy calls one document has its lines all the same
        lines = [line for line in event.split("\n") if line.strip()] or [event]
        return "".join([self._take(edge.decode(line, shape.Chunk), answer) for line in lines])

    def read_models(self, body: str) -> list[str]:
        return [model.name for model in edge.decode(body, shape.ModelList).models]

    def capabilities(self, model: str) -> Capabilities:
        return Capabilities(
            native_tools=True,
            streaming=True,
            vision=_SEEING.search(model) is not None,
            context_tokens=self._context_tokens,
        )

    def splitter(self) -> Splitter:
        return LineSplitter()

    def _take(self, chunk: shape.Chunk, answer: Answer) -> str:
        if chunk.error is not None:
            raise ToldError(chunk.error)
        text = "" if chunk.message is None else _take_message(chunk.message, answer)
        if chunk.done:
            sent = max(chunk.prompt_eval_count or 0, 0)
            answer.count(Usage(sent, max(chunk.eval_count or 0, 0)))
            self._refuse_cut_prompt(sent)
            answer.end(_STOPS.get(chunk.done_reason or "", Stop.END))
            _send_back(answer)
            answer.close()
        return text

    def _refuse_cut_prompt(self, sent_tokens: int) -> None:
        """Releases that cannot be forbidden to cut a conversation cut it to the window's size."""
        limit = self._context_tokens
        if limit - LEAST_ROOM_TOKENS <= sent_tokens <= limit:
            raise ContextOverflow(
                f"the conversation fills the model's window of {limit} tokens, and its beginning "
                "may have been cut off: set provider.context_tokens higher"
            )


def _take_message(message: shape.Message, answer: Answer) -> str:
    if message.thinking:
        answer.count_bytes(message.thinking)
        answer.notes.setdefault(_THINKING, Note()).add("text", message.thinking)
    for call in message.tool_calls or ():
        function = call.function or shape.FunctionCall()
        written = function.arguments or {}
        if not isinstance(written, str):
            written = json.dumps(written, ensure_ascii=False, separators=(",", ":"))
        # Numbered from 1, in whatever lines they come
        index = max(answer.notes, default=0) + 1
        answer.notes[index] = Note("call")
        answer.add_call(index, call.id or "", function.name or "", written)
    return answer.add_text(message.content or "")


def _send_back(answer: Answer) -> None:
    """Put the thoughts that led to calls before their results."""
    if thoughts := answer.notes.get(_THINKING, Note()).text("text"):
        answer.send_back(json.dumps(thoughts, ensure_ascii=False))
