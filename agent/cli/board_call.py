"""`barnacle board call`: one method, its arguments typed as the manifest says."""

import asyncio
import difflib
import math
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence

from agent.cli import exits
from agent.cli.board_info import usage
from agent.cli.output import say, say_json
from agent.errors import BadArguments, LinkLost
from agent.link.base import Board, BoardState, Value
from agent.link.manifest import BYTES_FORMAT, Field, Manifest, Method
from agent.link.value_codec import is_whole, no_pin_for

# How often a held output is looked after; the lease itself is renewed by the board object
_LOOK_EVERY_S = 0.2


async def run(board: Board, arguments: Namespace) -> int:
    manifest = board.manifest or Manifest(manifest=0, board="")
    method = _method(manifest, arguments.method)
    typed = typed_arguments(manifest, method, arguments.arguments)
    result = await board.call(method.name, typed)
    if arguments.json:
        unit = method.result[0].unit if len(method.result) == 1 else ""
        say_json({**result, "unit": unit} if unit else result)
    else:
        say("\n".join(_lines(method, result)) or "done")
    if method.lease:
        await _hold(board, arguments.hold)
    return exits.OK


def typed_arguments(manifest: Manifest, method: Method, words: Sequence[str]) -> dict[str, Value]:
    """Arguments of a call from words like ``pin=led``.

    Raises:
        BadArguments: a word is not `name=value`, a name is unknown or missing, a value no number.
    """
    typed: dict[str, Value] = {}
    fields = {field.name: field for field in method.arguments}
    for word in words:
        name, separator, text = word.partition("=")
        if not separator:
            raise BadArguments(f"{word} has no =: write name=value; usage: {usage(method)}")
        if name not in fields:
            remedy = _did_you_mean(name, fields) or f"; usage: {usage(method)}"
            raise BadArguments(f"{method.name} has no argument {name}{remedy}")
        typed[name] = _typed(manifest, fields[name], text)
    missing = [name for name in fields if name not in typed]
    if missing:
        raise BadArguments(f"missing arguments: {', '.join(missing)}; usage: {usage(method)}")
    return typed


def _method(manifest: Manifest, name: str) -> Method:
    # The agent's own tools carry the board's name in front
    for candidate in (name, name.removeprefix("board_")):
        if (method := manifest.method(candidate)) is not None:
            return method
    names = [method.name for method in manifest.methods]
    listed = ", ".join(names) or "none"
    raise BadArguments(
        f"the board has no method {name}{_did_you_mean(name, names)}; available methods: {listed}"
    )


def _typed(manifest: Manifest, field: Field, text: str) -> Value:
    if field.pins:
        return _pin(manifest, field, text)
    if field.choices:
        if text not in field.choices:
            choices = ", ".join(field.choices)
            raise BadArguments(f"{field.name} must be one of {choices}, not {text}")
        return text
    if field.format == BYTES_FORMAT:
        return text
    try:
        number = int(text) if is_whole(field) else float(text)
    except ValueError as err:
        kind = "a whole number" if is_whole(field) else "a number"
        unit = f" in {field.unit}" if field.unit else ""
        raise BadArguments(f"{field.name} must be {kind}{unit}, not {text}") from err
    if isinstance(number, float) and not math.isfinite(number):
        raise BadArguments(f"{field.name} must be a number, not {text}")
    return number


def _pin(manifest: Manifest, field: Field, text: str) -> str:
    able = manifest.pins_that_can(field.pins)
    for pin in able:
        if text.casefold() in {name.casefold() for name in (pin.name, pin.pin, *pin.aliases)}:
            return pin.name
    names = [pin.name for pin in able]
    if not names:
        raise BadArguments(f"{field.name}: {no_pin_for(field.pins)}")
    remedy = _did_you_mean(text, names)
    raise BadArguments(f"{field.name} must be one of {', '.join(names)}, not {text}{remedy}")


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _lines(method: Method, result: dict[str, Value]) -> list[str]:
    units = {field.name: field.unit for field in method.result}
    return [f"{name} = {value} {units.get(name, '')}".rstrip() for name, value in result.items()]


async def _hold(board: Board, hold_s: float) -> None:
    """Stay as long as the outputs are to be held; they go to their safe values when this ends."""
    if not hold_s:
        note = "outputs return to their safe values now; --hold SECONDS keeps them on"
        print(f"({note})", file=sys.stderr)
        return
    loop = asyncio.get_running_loop()
    until_s = loop.time() + hold_s
    while loop.time() < until_s:
        await asyncio.sleep(_LOOK_EVERY_S)
        if board.status.state is not BoardState.READY:
            raise LinkLost(f"the outputs are no longer held: {board.status.trouble}")
