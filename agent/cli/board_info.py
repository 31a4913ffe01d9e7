"""`barnacle board info`: what the board is, its pins and its methods."""

from agent.cli import exits
from agent.cli.output import say, say_json, say_table
from agent.link.base import UNCOUNTED, Board, BoardIdentity
from agent.link.manifest import BoardPin, Field, Manifest, Method
from agent.tools.board_words import limits_of


def run(board: Board, *, as_json: bool) -> int:
    manifest = board.manifest or Manifest(manifest=0, board="")
    if as_json:
        say_json(_as_json(board, manifest))
        return exits.OK
    say_table(_rows(board, manifest))
    say("\npins")
    say_table([_row_of_pin(pin) for pin in manifest.pins], indent="  ")
    say("\nmethods")
    for method in manifest.methods:
        say(f"  {usage(method)}\n      {method.about}")
    return exits.OK


def usage(method: Method) -> str:
    """A method as it is typed."""
    return " ".join([method.name, *(f"{field.name}={_taken(field)}" for field in method.arguments)])


def _taken(field: Field) -> str:
    if field.pins:
        return "PIN"
    return "|".join(field.choices) or f"NUMBER{field.unit and f'({field.unit})'}"


def _rows(board: Board, manifest: Manifest) -> list[tuple[str, str]]:
    status = board.status
    rows = [("board", manifest.board), ("state", status.state.value), ("port", status.port)]
    if status.trouble:
        rows.append(("trouble", status.trouble))
    if (known := status.identity) is not None:
        rows += [
            ("firmware", f"{known.firmware} (build {known.build}, protocol {known.protocol})"),
            ("unique id", known.unique_id),
            ("last reset", _last_reset(known)),
            ("link", board.counters.in_words()),
        ]
    return rows


def _last_reset(known: BoardIdentity) -> str:
    is_counted = known.boot_count < UNCOUNTED
    return f"{known.reset_cause}{f', boot {known.boot_count}' if is_counted else ''}"


def _row_of_pin(pin: BoardPin) -> tuple[str, ...]:
    also = f"also {', '.join(pin.aliases)}" if pin.aliases else ""
    limits = ", ".join(f"{name} {_shown(limit)}" for name, limit in limits_of(pin).items())
    return (pin.name, pin.pin, " ".join(pin.can), also, limits)


def _shown(limit: object) -> str:
    if isinstance(limit, dict):
        return " and ".join(f"{name} is {value}" for name, value in limit.items())
    return f"{limit}"


def _as_json(board: Board, manifest: Manifest) -> dict[str, object]:
    status = board.status
    identity = status.identity
    return {
        "state": status.state.value,
        "board": manifest.board,
        "firmware": identity.firmware if identity else "",
        "port": status.port,
        "unique_id": identity.unique_id if identity else "",
        "trouble": status.trouble,
        "link": board.counters.as_numbers(),
        "pins": [
            {
                "name": pin.name,
                "pin": pin.pin,
                "aliases": pin.aliases,
                "can": pin.can,
                **limits_of(pin),
            }
            for pin in manifest.pins
        ],
        "methods": [
            {"name": method.name, "about": method.about, "usage": usage(method)}
            for method in manifest.methods
        ],
    }
