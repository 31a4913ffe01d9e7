"""A real program in place of a model: it prints what a test wrote, in the way that a reply says.

It is a script for `sh` in the sandbox, so that its pipes, its status and its children are real.
"""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.errors import ProviderError
from agent.providers.base import ChatRequest
from agent.providers.program.isolation import ProgramIsolation
from agent.providers.program.provider import ProgramCommand, ProgramProvider
from agent.providers.prompted.forms import ToolForms
from agent.providers.prompted.provider import PromptedProvider
from agent.providers.reader import RequestTimeouts
from agent.providers.settings import ProgramOutput, ProgramSettings
from agent.providers.wire import Sampling
from tests.fakes.clock import SteppedClock
from tests.fakes.llm_server import JSON, Call, Reply

MODEL = "fake-model"
JSONL = "application/x-ndjson"
LINES = ProgramOutput(
    form="jsonl",
    delta="[type=delta].text",
    end="[type=done].type",
    error="[type=error].message",
    input_tokens="[type=done].usage.input",
    output_tokens="[type=done].usage.output",
)
DOCUMENT = ProgramOutput(form="json", answer="[failed=false].result", error="[failed=true].result")
# As nothing else on the machine is called
NAP_S = 986.5


def text_with(text: str, calls: Sequence[Call] = ()) -> str:
    """Return an answer as a model without tools writes it."""
    told = ({"name": call.name, "arguments": json.loads(call.arguments)} for call in calls)
    marked = (f"<tool_call>\n{json.dumps(one)}\n</tool_call>" for one in told)
    return "\n".join((text, *marked))


def lines(*events: dict[str, object]) -> bytes:
    return "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events).encode()


def deltas(text: str, piece_chars: int = 7) -> list[dict[str, object]]:
    starts = range(0, len(text), piece_chars)
    return [{"type": "delta", "text": text[at : at + piece_chars]} for at in starts]


def done() -> dict[str, object]:
    return {"type": "done", "usage": {"input": 90, "output": 12}}


def document(text: str, *, failed: bool = False) -> bytes:
    return json.dumps({"failed": failed, "result": text}).encode()


def script(reply: Reply, file: Path) -> str:
    """Return the script that prints the reply, whose body it writes into the file."""
    file.write_bytes(reply.body)
    name, amount = shlex.quote(str(file)), reply.cut_after
    if reply.status != 200:
        return f"cat {name} >&2; exit 1"
    printing = f"cat {name}" if amount is None else f"head -c {amount} {name}"
    if reply.piece_bytes:
        printing = f"dd if={name} bs={reply.piece_bytes} status=none"
    if reply.stalls:
        return f"{printing}; sleep {NAP_S} & sleep {NAP_S}"
    # Killed, as by a machine without memory: nobody says how it ended
    return printing if amount is None else f"{printing}; kill -KILL $$"


def program(
    text: str,
    output: ProgramOutput | None = None,
    reads: Sequence[Path] = (),
    patience: RequestTimeouts | None = None,
    **more: object,
) -> ProgramProvider:
    """Return the provider of a script."""
    declared = ProgramSettings(
        command=("sh", "-c", text),
        reads=tuple(map(str, reads)),
        output=output or ProgramOutput(),
        **more,  # type: ignore[arg-type]  # a table of fields
    )
    return ProgramProvider(
        ProgramCommand("fake-cli", declared),
        Sampling(MODEL, 0.5, 500),
        patience or RequestTimeouts(60.0),
        ProgramIsolation(Path("/nowhere/socket"), Path("/nowhere/online")),
    )


def with_tools(provider: ProgramProvider) -> PromptedProvider:
    """Return the provider as an agent asks it."""
    return PromptedProvider(provider, MODEL, ToolForms(SteppedClock()))


@dataclass(frozen=True)
class ProgramCase:
    """A program under the suite of all wires: lines of JSON, or one document.

    Args:
        folder: where what it prints is written.
    """

    folder: Path
    request: ChatRequest
    stream: bytes
    ends_at: int
    text_only: bytes
    document: bytes
    told_in_stream: bytes
    errors: tuple[tuple[Reply, type[ProviderError]], ...]
    content_type: str = JSONL
    gives_ids: bool = False

    def provider(self, reply: Reply) -> PromptedProvider:
        file = self.folder / f"reply-{len(list(self.folder.iterdir()))}"
        output = DOCUMENT if reply.content_type == JSON else LINES
        return with_tools(program(script(reply, file), output, [file]))
