"""Where tests still sleep: a test waits for a condition, in `tests/waits.py`, and not for a while.

What may stay is listed with its reason: a peer that is slow, a person, a moment of chance, or
something that shows nothing while it settles. The numbers only go down.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.structure.sources import ROOT, modules, nodes

_MODULES = frozenset({"asyncio", "time", "anyio", "trio"})
# These are the waits, and the time that costs none
_HOME = frozenset({"tests/waits.py", "tests/fakes/virtual_time.py"})

ALLOWED: Mapping[str, int] = {
    # Peers that are slow, drip, or try again after a while
    "tests/fakes/blocking.py": 1,
    "tests/fakes/clock.py": 1,
    "tests/fakes/drip.py": 1,
    "tests/fakes/llm_server.py": 1,
    "tests/fakes/ntfy_server.py": 1,
    "tests/fakes/sending.py": 1,
    "tests/fakes/slack_poster.py": 1,
    "tests/fakes/slow_callers.py": 4,
    "tests/fakes/slow_provider.py": 1,
    "tests/fakes/telegram_phone.py": 1,
    "tests/net/test_http_call.py": 2,
    # The fault itself: a loop that stands still, a board whose interpreter is stopped
    "tests/hardware/test_enable_lines.py": 1,
    "tests/firmware/test_simulation.py": 1,
    # A person's finger, or hand on the keys
    "tests/approvals/test_button_with_firmware.py": 1,
    "tests/firmware/test_boot.py": 1,
    "tests/system/test_watch.py": 2,
    # A moment of chance, or the pace of many tries
    "tests/channels/telegram/test_send.py": 1,
    "tests/faults/test_f02_cut_in_a_commit.py": 1,
    "tests/faults/test_f15_harmful_commands.py": 1,
    "tests/faults/test_f22_telegram_restarts.py": 1,
    "tests/faults/test_x45_told_to_end.py": 1,
    "tests/gateway/test_server.py": 1,
    "tests/memory/test_document.py": 1,
    # What settles without a sign: a read that begins, memory that is given back, a hung board
    "tests/cli/test_main.py": 1,
    "tests/contracts/listener.py": 1,
    "tests/fakes/running_board.py": 1,
    "tests/fakes/signal_platform.py": 1,
    "tests/faults/test_f25_webhooks.py": 1,
    "tests/firmware/test_configuration.py": 1,
    "tests/firmware/test_repetition.py": 1,
    "tests/firmware/test_safety.py": 1,
    # Programs of another environment, which cannot import ours
    "tests/oracles/sdk/dingtalk_app.py": 1,
    "tests/oracles/sdk/lark_app.py": 1,
}


def violations(allowed: Mapping[str, int] = ALLOWED, root: Path = ROOT) -> Iterator[str]:
    """Every file that sleeps more often than it may, or may do so more often than it does."""
    found = Counter({str(path): _count(root / path) for path in modules("tests", root)})
    for name in sorted({*allowed, *(+found)} - _HOME):
        if found[name] > (most := allowed.get(name, 0)):
            yield f"{name}: {found[name]} sleeps, {most} allowed: see tests/waits.py"
        elif found[name] < most:
            yield f"{name}: {found[name]} sleeps: lower its number in tests/structure/sleeps.py"


def _count(path: Path) -> int:
    bare = {name for node in nodes(path) for name in _imported(node)}
    return sum(_is_sleep(node, bare) for node in nodes(path))


def _imported(node: ast.AST) -> Iterator[str]:
    """The names by which a module calls a sleep that it has imported alone."""
    if isinstance(node, ast.ImportFrom) and node.module in _MODULES:
        yield from (one.asname or one.name for one in node.names if one.name == "sleep")


def _is_sleep(node: ast.AST, bare: set[str]) -> bool:
    if not isinstance(node, ast.Call):
        return False
    match node.func:
        case ast.Attribute(value=ast.Name(id=module), attr="sleep") if module in _MODULES:
            pass
        case ast.Name(id=name) if name in bare:
            pass
        case _:
            return False
    # Nothing is waited for: whoever else is ready goes on
    return not (node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0)
