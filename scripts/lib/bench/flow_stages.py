"""Started as the agent: the same, with a clock around each stage of a turn."""

import functools
import inspect
import json
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

# Where each stage is; a stage within another one is told apart by its indent
STAGES = {
    "receive": ("agent.channels.telegram.receive", "TelegramReceiver._take"),
    "accept": ("agent.messaging.dispatcher", "Dispatcher._accept"),
    "answer": ("agent.messaging.conversation", "Conversations.answer"),
    "  recall": ("agent.messaging.recall", "MessageRecall.of"),
    "  history": ("agent.messaging.conversation", "Conversations._read"),
    "  prompt": ("agent.turn.window", "compose"),
    "  request": ("agent.turn.turn", "TurnRunner._ask_model"),
    "  gate": ("agent.approvals.gate", "Gate.admit"),
    "  tool": ("agent.turn.turn", "execute"),
    "  commit": ("agent.messaging.conversation", "Conversations.finish"),
    "deliver": ("agent.messaging.delivery", "Delivery.send"),
}


def main(arguments: Sequence[str]) -> int:
    """Run `barnacle` with these arguments; each stage adds a line to the file that is named."""
    path = os.environ["BARNACLE_STAGES"]
    with open(path, "a", encoding="utf-8", buffering=1) as file:  # noqa: PTH123 - kept open
        for stage, (module, name) in STAGES.items():
            _watch(stage, module, name, lambda *row: file.write(f"{json.dumps(row)}\n"))
        cli = import_module("agent.cli.main")
        return int(cli.main(list(arguments)) or 0)


def _watch(stage: str, module: str, name: str, note: Callable[[str, float], object]) -> None:
    owner: Any = import_module(module)
    *outer, last = name.split(".")
    for part in outer:
        owner = getattr(owner, part)
    made = getattr(owner, last)
    assert inspect.iscoroutinefunction(made), f"{module}.{name} is no coroutine"

    @functools.wraps(made)
    async def timed(*given: Any, **named: Any) -> Any:
        begun_s = time.perf_counter()
        try:
            return await made(*given, **named)
        finally:
            note(stage, time.perf_counter() - begun_s)

    setattr(owner, last, timed)


def table(lines: str) -> str:
    """Return the median of each stage, from the lines that it wrote."""
    taken: dict[str, list[float]] = defaultdict(list)
    for line in lines.splitlines():
        stage, took_s = json.loads(line)
        taken[stage].append(took_s * 1e3)
    told = [
        f"{stage:12} {statistics.median(took):7.2f} ms  {len(took):6,} times"
        for stage in STAGES
        if (took := taken.get(stage))
    ]
    return "\n".join(told)
