"""Origin of a board's words: our firmware, the owner, or the board itself.

Its own words are trusted as a sensor is, wherever they stand: names, units, choices, refusals.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from agent.errors import CallRefused
from agent.link.base import Board
from agent.link.manifest import BoardPin, Manifest, Method
from agent.passage import Fact, Passage, Provenance, configured, lowest, outside, own


def limits_of(pin: BoardPin) -> dict[str, object]:
    """Return the owner's limits for a pin, in the words of the configuration."""
    limits = {
        "danger": "hazard" if pin.safety == "hazard" else "",
        "max_on_s": pin.max_on_ms / 1000,
        "min_off_s": pin.min_off_ms / 1000,
        "max_per_minute": pin.per_minute,
        "only_while": {name: "on" if value else "off" for name, value in pin.needs},
    }
    return {name: limit for name, limit in limits.items() if limit}


def limits_in_words(limits: Mapping[str, object], named: Sequence[Passage]) -> dict[str, Fact]:
    """Return the limits for a model, trusted as little as the pin names in them."""
    least = lowest(named)
    plain = {name: limit for name, limit in limits.items() if isinstance(limit, float | int)}
    told: dict[str, Fact] = {**plain}
    if "danger" in limits:
        told["danger"] = own("hazard")
    while_on = limits.get("only_while")
    if isinstance(while_on, dict):
        told["only_while"] = {
            name: configured(value).below(least.provenance, least.source)
            for name, value in while_on.items()
        }
    return told


def is_own_word(text: str, named: Collection[str] = ()) -> bool:
    """Return true if our firmware or the owner chose this text."""
    from agent.link.firmware_words import is_ours  # noqa: PLC0415 - a board needs it, no start

    return is_ours(text, named)


def word_of(board: Board, text: str, named: Collection[str]) -> Passage:
    """Return a name or short text of a board with its trust."""
    if is_own_word(text, named):
        return configured(text)
    return outside(text, Provenance.SENSOR, f"board:{board.name}")


def refusal_of(err: CallRefused, named: Collection[str], source: str) -> Passage:
    """Return the reason of a board's refusal, in our words where we know it."""
    if not err.detail:
        # A name of the wire format
        return configured(err.code.replace("_", " "))
    from agent.link.firmware_words import is_our_refusal  # noqa: PLC0415 - as above

    if err.is_vouched_for or is_our_refusal(err.detail, named):
        return configured(err.detail)
    return outside(err.detail, Provenance.SENSOR, source)


def description_of(
    board: Board, manifest: Manifest, method: Method, named: Collection[str]
) -> Passage:
    """Describe a method in our firmware's words; for other firmware only name it.

    Its trust is that of everything that the schema shows: names, choices, units and aliases.
    """
    words = [method.name, *_texts_of(manifest, method)]
    shown = [word_of(board, text, named) for text in words]
    name = shown[0]
    about = configured(method.about) if is_own_word(method.about) and method.about else None
    least = lowest(shown)
    said = about or own("{} of the board", name)
    return said.below(least.provenance, least.source)


def _texts_of(manifest: Manifest, method: Method) -> Iterator[str]:
    for field in method.arguments:
        yield from (field.name, field.unit, *field.choices)
        for pin in manifest.pins_that_can(field.pins) if field.pins else ():
            yield from (pin.name, *pin.aliases, *filter(None, (pin.place, *pin.groups)))
