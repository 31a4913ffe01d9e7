"""Changes that weaken one piece of Python: what to put between two places of its source."""

import ast
import itertools
from collections.abc import Iterator, Mapping

_OPPOSITE: Mapping[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: (" in ", " not in "),
    ast.NotIn: (" not in ", " in "),
    ast.Is: (" is ", " is not "),
    ast.IsNot: (" is not ", " is "),
}
_EXCHANGED = {"min": "max", "max": "min", "any": "all", "all": "any"}
_MORE_ALLOWED = {"DENY": "ALLOW", "ASK": "ALLOW", "NO": "YES", "NONE": "YES"}
_VERDICTS = frozenset({"Verdict", "Answer"})
# Of what is logged or counted for people nothing depends
_ONLY_TOLD = frozenset({"_log", "logging", "warnings"})
# A set of one member is a list of one thing: without it nothing is left to look at
_LEAST_MEMBERS = 2
MEMBER = "dropped member"
FLAG = "dropped flag"
_TYPES = frozenset({"str", "bytes", "int", "float", "bool"})

Change = tuple[str, int, int, str]


def changes(node: ast.AST, source: str) -> Iterator[Change]:
    """Yield replacements for parts of the source."""
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield from _of_condition(node.test, source)
    elif isinstance(node, ast.BoolOp):
        yield from _of_words(node, source)
    elif isinstance(node, ast.Compare):
        yield from _of_comparison(node, source)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        begin, end = _span(node, source)
        yield "dropped not", begin, end, _text(node.operand, source)
    elif isinstance(node, ast.Raise):
        yield "dropped raise", *_span(node, source), "pass"
    elif isinstance(node, ast.Expr):
        yield from _of_call(node, source)
    elif isinstance(node, ast.Return):
        yield from _of_return(node, source)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from _of_verdict(node, source)
    else:
        yield from _of_value(node, source)


def _of_value(node: ast.AST, source: str) -> Iterator[Change]:
    if isinstance(node, ast.Set | ast.Tuple | ast.List):
        yield from _of_members(node, source)
    elif isinstance(node, ast.Name) and node.id in _EXCHANGED:
        yield "exchanged", *_span(node, source), _EXCHANGED[node.id]
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if node.value.id in _VERDICTS and node.attr in _MORE_ALLOWED:
            more = f"{node.value.id}.{_MORE_ALLOWED[node.attr]}"
            yield "more allowed", *_span(node, source), more
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd):
        if not _is_type(node):
            yield FLAG, *_span(node, source), _text(node.left, source)
            yield FLAG, *_span(node, source), _text(node.right, source)
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.keyword):
        yield from _of_constant(node, source)


def _of_constant(node: ast.Assign | ast.AnnAssign | ast.keyword, source: str) -> Iterator[Change]:
    if not isinstance(node.value, ast.Constant):
        return
    value, span = node.value.value, _span(node.value, source)
    if isinstance(value, bool):
        if isinstance(node, ast.keyword):
            yield "turned round", *span, str(not value)
    elif isinstance(value, int | float) and value and not isinstance(node, ast.keyword):
        yield "widened limit", *span, f"{value * 10}"


def _of_condition(test: ast.expr, source: str) -> Iterator[Change]:
    begin, end = _span(test, source)
    if isinstance(test, ast.Name) and test.id == "TYPE_CHECKING":
        return
    yield "never", begin, end, "False"
    # Where the condition names something, only its turn leaves the name
    named = any(isinstance(one, ast.NamedExpr) for one in ast.walk(test))
    if named:
        yield "turned round", begin, end, f"not ({source[begin:end]})"
    else:
        yield "always", begin, end, "True"


def _of_words(node: ast.BoolOp, source: str) -> Iterator[Change]:
    word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in itertools.pairwise(node.values):
        begin, end = _span(left, source)[1], _span(right, source)[0]
        between = source[begin:end]
        if word in between:
            yield f"{word} to {other}", begin, end, between.replace(word, other, 1)


def _of_comparison(node: ast.Compare, source: str) -> Iterator[Change]:
    left = node.left
    for op, right in zip(node.ops, node.comparators, strict=True):
        begin, end = _span(left, source)[1], _span(right, source)[0]
        sign, other = _OPPOSITE[type(op)]
        between = source[begin:end]
        if sign in between:
            yield "comparison", begin, end, between.replace(sign, other, 1)
        left = right


def _of_call(node: ast.Expr, source: str) -> Iterator[Change]:
    value = node.value.value if isinstance(node.value, ast.Await) else node.value
    if not isinstance(value, ast.Call):
        return
    root: ast.expr = value.func
    while isinstance(root, ast.Attribute):
        root = root.value
    if not (isinstance(root, ast.Name) and root.id in _ONLY_TOLD):
        yield "dropped call", *_span(node, source), "pass"


def _of_return(node: ast.Return, source: str) -> Iterator[Change]:
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool):
        yield "turned round", *_span(node.value, source), str(not node.value.value)


def _of_verdict(node: ast.FunctionDef | ast.AsyncFunctionDef, source: str) -> Iterator[Change]:
    """Of what says yes or no: each return says the one, and the other."""
    if not (isinstance(node.returns, ast.Name) and node.returns.id == "bool"):
        return
    for one in ast.walk(node):
        if isinstance(one, ast.Return) and one.value and not isinstance(one.value, ast.Constant):
            begin, end = _span(one.value, source)
            yield "says yes", begin, end, "True"
            yield "says no", begin, end, "False"


def _of_members(node: ast.Set | ast.Tuple | ast.List, source: str) -> Iterator[Change]:
    members = node.elts
    if len(members) < _LEAST_MEMBERS or isinstance(getattr(node, "ctx", None), ast.Store):
        return
    if not all(isinstance(one, ast.Constant | ast.Attribute) for one in members):
        return
    for first, second in itertools.pairwise(members):
        yield MEMBER, _span(first, source)[0], _span(second, source)[0], ""


def _is_type(node: ast.BinOp) -> bool:
    """`str | None` in an annotation."""
    sides = (node.left, node.right)
    if any(isinstance(one, ast.Constant | ast.Subscript) for one in sides):
        return True
    names = [one.id for one in sides if isinstance(one, ast.Name)]
    return any(name in _TYPES or (name[0].isupper() and not name.isupper()) for name in names)


def _span(node: ast.AST, source: str) -> tuple[int, int]:
    lines = source.splitlines(keepends=True)
    assert isinstance(node, ast.expr | ast.stmt | ast.keyword)

    def place(line: int, column: int) -> int:
        before = lines[line - 1].encode()[:column].decode()
        return sum(map(len, lines[: line - 1])) + len(before)

    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)


def _text(node: ast.expr, source: str) -> str:
    begin, end = _span(node, source)
    return f"({source[begin:end]})"
