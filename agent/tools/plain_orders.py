"""Plain orders of a sentence: the calls that it comes to, and the one write of each."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec
from msgspec import Struct

from agent.link.base import Value
from agent.link.manifest import Manifest
from agent.link.readings import Setting, settings
from agent.messages import ToolSpec
from agent.readings.order_acts import TimedOrder
from agent.tools.base import AnyTool
from agent.tools.timed_output import FOR_SECONDS

_MS = 1000


class PlainOrder(Struct, frozen=True):
    """Call that a sentence orders."""

    tool: str
    arguments: Mapping[str, object]


# Returns the calls that a text orders, none where it is no plain order: the text, its language, and
# the tools there are
ReadOrders = Callable[[str, str, Sequence[ToolSpec]], Awaitable[Sequence[PlainOrder]]]


def timed_order(
    manifest: Manifest, board: str, tool: AnyTool, call: PlainOrder
) -> TimedOrder | None:
    """Return the write that a call comes to; None for one that sets no output by one number.

    Raises:
        BadArguments: the tool would refuse it.
    """
    given = msgspec.structs.asdict(tool.parse(msgspec.json.encode(call.arguments).decode()))
    for one in settings(manifest):
        for method in manifest.methods:
            if f"{board}_{method.name}" != tool.name or method.arguments[-1] is not one.field:
                continue
            if one.pin.name in {given[at.name] for at in method.arguments if at.pins}:
                value = _raw(one, given[one.field.name])
                return TimedOrder(one.pin.name, value, round(given.get(FOR_SECONDS, 0) * _MS))
    return None


def _raw(setting: Setting, value: Value) -> int:
    if setting.field.choices:
        return setting.field.choices.index(str(value))
    return round(float(value) / setting.field.scale)
