"""Whose words a text is: where our own code may say so, and where a tool has to.

`own` vouches for a text, so it takes only one that is written out where it is called; what is put
into it are facts with an origin of their own. What reaches a model is made of passages, and every
tool declares the least trusted words that it reads.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.structure.sources import ROOT, modules, nodes, parsed

# Where passages are made of nothing but parts: the type itself
_MAKER = Path("agent/passage.py")
# The first word of what a passage vouches for without a text of its own; each is a decision, and
# which modules take it is listed, so that another one is looked at
_VOUCHING = frozenset({"configured", "echo"})
_MODULES = frozenset(
    Path("agent", *name.split("."))
    for name in (
        *("app.machine_health", "app.probe.run", "app.prompt_files"),
        *("devices.caller", "devices.tools"),
        *("turn.attachments", "turn.delegation", "turn.guidance", "turn.hooks", "turn.prompt"),
        "turn.turn",
        *("link.board", "link.connection", "link.output_lock", "link.value_codec"),
        *("link.port", "providers.prompted.writer", "schedule.job_book"),
        *("schedule.reminder_book", "schedule.timer_book", "tools.timed_output"),
        *(
            "tools.base",
            "tools.board",
            "tools.board_words",
            "tools.cron",
            "tools.delegate",
            "tools.file_edit",
        ),
        *("tools.files", "tools.git", "tools.gpio", "tools.i2c", "tools.image_info"),
        "tools.home_assistant.tools",
        *("tools.mcp.tool", "tools.memory", "tools.memory_export", "tools.memory_sources"),
        *(
            "tools.readings",
            "tools.readings_draw",
            "tools.reflex",
            "tools.send_message",
            "tools.shell",
            "tools.system",
        ),
        *("tools.watch", "tools.web_fetch"),
    )
)


def violations(root: Path = ROOT) -> Iterator[str]:
    """Every text that is vouched for by somebody who cannot know."""
    for module in modules("agent", root):
        if module == _MAKER:
            continue
        within = nodes(root / module)
        known = _from_passage(within)
        if not known:
            continue
        constants = _constants(parsed(root / module), within)
        for node in within:
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in known
            ):
                yield from (
                    f"{module}:{node.lineno}: {one}" for one in _of_call(node, constants, module)
                )


def _of_call(node: ast.Call, constants: frozenset[str], module: Path) -> Iterator[str]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name == "own" and not (node.args and _is_written_out(node.args[0], constants)):
        yield "own() takes a text that is written out; say whose words the others are"
    if name == "joined" and not (node.args and isinstance(node.args[0], ast.Constant)):
        yield "joined() takes a separator that is written out"
    if name in _VOUCHING and module.with_suffix("") not in _MODULES:
        yield f"{name}() vouches for a text; add the module to the list after a look at it"
    if name == "Passage" and module not in _MAKERS:
        yield "a passage is made by own(), echo(), configured(), outside(), read() or fields()"


# Whose passages are put together from others, and history's, whose trust is on record
_MAKERS = frozenset(
    {Path("agent/turn/turn.py"), Path("agent/turn/history.py"), Path("agent/errors.py")}
)


def _from_passage(within: Iterable[ast.AST]) -> frozenset[str]:
    """What the module knows of the type."""
    imports = (node for node in within if isinstance(node, ast.ImportFrom))
    return frozenset(
        one.name for node in imports if node.module == "agent.passage" for one in node.names
    )


def _is_written_out(node: ast.expr, constants: frozenset[str]) -> bool:
    match node:
        case ast.Constant(value=str()):
            return True
        case ast.Name(id=name):
            return name in constants
        case ast.Attribute(attr=name):
            return name.isupper()
        case ast.IfExp(body=one, orelse=other):
            return _is_written_out(one, constants) and _is_written_out(other, constants)
        case _:
            return False


def _constants(tree: ast.Module, within: Iterable[ast.AST]) -> frozenset[str]:
    """Names in capitals: of this module they must be texts, of others they are."""
    plain: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and _is_text(node.value):
            plain |= {one.id for one in node.targets if isinstance(one, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            plain |= {one.asname or one.name for one in node.names if one.name.isupper()}
    for node in within:
        # A name for one text within a function
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            plain |= _texts_within(node)
    return frozenset(plain)


def _texts_within(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    named: dict[str, bool] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for one in node.targets:
                if isinstance(one, ast.Name):
                    named[one.id] = named.get(one.id, True) and _is_text(node.value)
    return {name for name, is_text in named.items() if is_text}


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
