"""Questions of MCP servers to the owner, in words; no model sees or answers them.

They are asked only where the owner alone reads along. The owner can always say no; what does not
fit is asked again.
"""

import asyncio
import json
import math
from collections.abc import Callable, Mapping

from agent.errors import ChannelError
from agent.passage import Provenance
from agent.text.printable import printable_line, printable_text
from agent.tools.ask_user import place_of
from agent.tools.inquiry import Inquiry
from agent.tools.mcp.lines import MAX_ADDRESS_CHARS, ReplyRequest, ServerQuestion

# As long as an approval may take
ANSWER_TIMEOUT_S = 120.0
MAX_ANSWER_CHARS = 4000
_MAX_FIELDS = 12
_MAX_ABOUT_CHARS = 200
# The same field, after answers that do not fit
_MAX_TRIES = 3
_NO = frozenset({"no", "n", "decline", "/no"})
_YES = frozenset({"yes", "y", "ok", "done"})
_SKIP = "-"
_TRUE, _FALSE = frozenset({"yes", "y", "true", "1"}), frozenset({"no", "n", "false", "0"})

Value = str | int | float | bool | list[str] | None


class _Declined(Exception):
    """The owner said no."""


class _Unfit(Exception):
    """An answer that the field does not take; the text says why."""


class OwnerQuestions:
    """Puts the questions of one server to the owner.

    Args:
        inquire: the way to the owner's own words.
        is_secret: whether something in a text may not be sent to a server.
    """

    def __init__(self, server: str, inquire: Inquiry, is_secret: Callable[[str], bool]) -> None:
        self._server = server
        self._inquire = inquire
        self._is_secret = is_secret

    async def __call__(self, question: ServerQuestion) -> ReplyRequest:
        """Return the owner's reply; a cancellation where there is none in time."""
        try:
            if question.address:
                return await self._at_an_address(question)
            values = await self._values(question)
        except _Declined:
            return ReplyRequest("", "decline")
        except (ChannelError, TimeoutError):
            return ReplyRequest("", "cancel")
        if self._is_secret(json.dumps(values, ensure_ascii=False)):
            return ReplyRequest("", "decline")
        return ReplyRequest("", "accept", values)

    async def _at_an_address(self, question: ServerQuestion) -> ReplyRequest:
        address = printable_line(question.address, MAX_ADDRESS_CHARS)
        why = question.text or "it wants you to sign in"
        lines = [f"The MCP server {self._server} sends you to a web page: {why}", address]
        if question.returns_to:
            lines.append(
                f"After that your browser shows an address that begins with {question.returns_to} "
                "and cannot open it. Answer with that whole address, or with no."
            )
        else:
            lines.append("Answer with yes when you are done there, or with no.")
        said = await self._ask("\n".join(lines), Provenance.OWNER)
        if question.returns_to:
            return ReplyRequest("", "accept", {"address": said})
        return ReplyRequest("", "accept" if said.casefold() in _YES else "cancel")

    async def _values(self, question: ServerQuestion) -> dict[str, Value]:
        intro = f"The MCP server {self._server} asks you (no model reads it): {question.text}"
        if not question.fields:
            said = await self._ask(f"{intro}\nAnswer with yes or no.")
            if said.casefold() not in _YES:
                raise _Declined
            return {}
        if len(question.fields) > _MAX_FIELDS:
            raise _Declined
        values: dict[str, Value] = {}
        for number, (name, schema) in enumerate(question.fields.items(), start=1):
            place = f"({number} of {len(question.fields)}) " if len(question.fields) > 1 else ""
            is_needed = name in question.required and "default" not in schema
            asked = f"{place}{_described(name, schema, is_needed=is_needed)}"
            found = await self._value(f"{intro}\n{asked}", schema, is_needed=is_needed)
            if found is not None:
                values[name] = found
            intro = f"The MCP server {self._server} goes on asking."
        return values

    async def _value(self, asked: str, schema: Mapping[str, object], *, is_needed: bool) -> Value:
        trouble = ""
        for _ in range(_MAX_TRIES):
            said = await self._ask(f"{trouble}{asked}", keeps_no=schema.get("type") == "boolean")
            if said == _SKIP and not is_needed:
                return _default(schema)
            try:
                return value_of(said, schema)
            except _Unfit as err:
                trouble = f"That does not fit: {err}.\n"
        raise _Declined

    async def _ask(
        self, text: str, trust: Provenance = Provenance.MODEL, *, keeps_no: bool = False
    ) -> str:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            heard = await self._inquire(printable_text(text, 2 * MAX_ADDRESS_CHARS), trust)
        said = printable_text(heard.text, MAX_ANSWER_CHARS).strip()
        if heard.provenance < Provenance.OWNER or (said.casefold() in _NO and not keeps_no):
            raise _Declined
        return said


def value_of(said: str, schema: Mapping[str, object]) -> Value:
    """Return the answer as the field wants it; raise _Unfit where it is none."""
    choices = _choices(schema)
    if choices:
        return _choice(said, choices)
    kind = schema.get("type")
    if kind == "boolean":
        word = said.casefold()
        if word not in _TRUE | _FALSE:
            raise _Unfit("answer with yes or no")
        return word in _TRUE
    if kind in {"integer", "number"}:
        return _number(said, schema, is_whole=kind == "integer")
    if kind == "array":
        of = schema.get("items")
        names = _choices(of) if isinstance(of, Mapping) else {}
        parts = [part.strip() for part in said.split(",") if part.strip()]
        return [_choice(part, names) if names else part for part in parts]
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int) and len(said) < least:
        raise _Unfit(f"at least {least} characters")
    if isinstance(most, int) and len(said) > most:
        raise _Unfit(f"at most {most} characters")
    return said


def _number(said: str, schema: Mapping[str, object], *, is_whole: bool) -> int | float:
    try:
        value = int(said) if is_whole else float(said)
    except ValueError as err:
        raise _Unfit("a whole number" if is_whole else "a number") from err
    # JSON has neither "nan" nor "inf": the server would get nothing
    if isinstance(value, float) and not math.isfinite(value):
        raise _Unfit("a number")
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(least, int | float) and value < least:
        raise _Unfit(f"at least {least}")
    if isinstance(most, int | float) and value > most:
        raise _Unfit(f"at most {most}")
    return value


def _choices(schema: Mapping[str, object]) -> dict[str, str]:
    """Return the values that the field takes, by what they are called."""
    listed = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(listed, list):
        pairs = [
            one for one in listed if isinstance(one, dict) and isinstance(one.get("const"), str)
        ]
        return {str(one.get("title") or one["const"]): one["const"] for one in pairs}
    values, names = schema.get("enum"), schema.get("enumNames")
    if not isinstance(values, list):
        return {}
    called = names if isinstance(names, list) and len(names) == len(values) else values
    return {str(name): str(value) for name, value in zip(called, values, strict=True)}


def _choice(said: str, choices: Mapping[str, str]) -> str:
    values = list(choices.values())
    # By the name that is shown, else by the value behind it
    for called in (list(choices), values):
        if (place := place_of(said, called)) is not None:
            return values[place]
    raise _Unfit(f"one of {', '.join(choices)}")


def _default(schema: Mapping[str, object]) -> Value:
    value = schema.get("default")
    if isinstance(value, list):
        return [str(one) for one in value]
    return value if isinstance(value, str | int | float | bool) else None


def _described(name: str, schema: Mapping[str, object], *, is_needed: bool) -> str:
    title = schema.get("title") or name
    about = f": {schema['description']}" if schema.get("description") else ""
    line = printable_line(f"{title}{about}", _MAX_ABOUT_CHARS)
    of = schema.get("items")
    choices = _choices(of if isinstance(of, Mapping) else schema)
    listed = "".join(f"\n{number}. {one}" for number, one in enumerate(choices, start=1))
    kind = {"boolean": " (yes or no)", "integer": " (a whole number)", "number": " (a number)"}
    wanted = kind.get(str(schema.get("type")), "")
    return f"{line}{wanted}{printable_text(listed, MAX_ANSWER_CHARS)}\n{_help(schema, is_needed)}"


def _help(schema: Mapping[str, object], is_needed: bool) -> str:  # noqa: FBT001 - its only caller
    refuse = "" if schema.get("type") == "boolean" else "no declines"
    if is_needed:
        return f"({refuse})" if refuse else ""
    default = _default(schema)
    skip = "- leaves it out" if default is None else f"- stands for {default}"
    return f"({'; '.join(filter(None, (printable_line(skip, _MAX_ABOUT_CHARS), refuse)))})"
