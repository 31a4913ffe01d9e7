"""Tools for the Pi's own configured pins."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import msgspec

from agent.errors import PinRefused
from agent.messages import Effect, ToolResult
from agent.passage import Fact, Provenance, configured, fields, own
from agent.peripherals.gpio import PiPins
from agent.peripherals.settings import PiPinSettings
from agent.security.shares import READINGS
from agent.tools.base import AnyTool, Arguments, NoArguments, Tool, ToolContext
from agent.tools.choice import facts_of, one_of
from agent.tools.hardware_timeout import in_time
from agent.tools.timed_output import FOR_SECONDS, ForSeconds, OutputLimits

_SWITCH = ("off", "on")
_EFFECTS = {"actuate": Effect.ACTUATE, "hazard": Effect.HAZARD}


def gpio_tools(pins: PiPins) -> list[AnyTool]:
    """Return the pin tools; writing needs at least one output."""
    has_output = any(pin.kind == "output" for pin in pins.pins.values())
    writing: list[AnyTool] = [GpioWriteTool(pins)] if has_output else []
    return [GpioListTool(pins), GpioReadTool(pins), *writing]


class GpioListTool(Tool[NoArguments]):
    """Lists the Pi's configured pins and their states."""

    reads = Provenance.SENSOR
    name = "gpio_list"
    description = own("The Raspberry Pi's own pins by name, and whether each is on.")
    effect = Effect.READ
    shown = READINGS
    arguments_type = NoArguments

    def __init__(self, pins: PiPins) -> None:
        self._pins = pins

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        told = await in_time(lambda: [_told(name, self._pins) for name in self._pins.pins])
        return ToolResult.done(fields({"pins": told}))


class GpioReadTool(Tool[Arguments]):
    """Reads an input, or the last value of an output."""

    reads = Provenance.SENSOR
    name = "gpio_read"
    description = own("Read whether a pin of the Raspberry Pi itself is on or off.")
    effect = Effect.READ
    shown = READINGS

    def __init__(self, pins: PiPins) -> None:
        self._pins = pins
        self.arguments_type = _arguments("gpio_read", pins, lambda _pin: True)

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        pin = cast("str", msgspec.structs.asdict(arguments)["pin"])
        is_on = await in_time(partial(self._pins.read, pin))
        value = configured(_SWITCH[is_on])
        return ToolResult.done(fields({"pin": configured(pin), "value": value}))


class GpioWriteTool(Tool[Arguments]):
    """Switches an output; it keeps the value until the next switch."""

    reads = Provenance.SENSOR
    name = "gpio_write"
    description = own("Switch an output of the Raspberry Pi itself on or off.")

    shown = READINGS

    def __init__(self, pins: PiPins) -> None:
        self._pins = pins
        kinds = {_EFFECTS[pin.danger] for pin in pins.pins.values() if pin.kind == "output"}
        # What is said of the tool as a whole is the worst that it can do
        self.effect = Effect.HAZARD if Effect.HAZARD in kinds else Effect.ACTUATE
        value = ("value", one_of(dict.fromkeys(_SWITCH, ())))
        end = (FOR_SECONDS, ForSeconds, 0)
        self.arguments_type = _arguments("gpio_write", pins, _is_output, value, end)

    def parse(self, arguments_json: str) -> Arguments:
        arguments = super().parse(arguments_json)
        values = msgspec.structs.asdict(arguments)
        if values[FOR_SECONDS]:
            pin = self._pins.pins[values["pin"]]
            limits = OutputLimits(values["pin"], pin.safe, pin.max_on_s or 0)
            limits.check(values["value"], values[FOR_SECONDS])
        return arguments

    def effect_of(self, arguments: Arguments) -> Effect:
        pin = cast("str", msgspec.structs.asdict(arguments)["pin"])
        return _EFFECTS[self._pins.pins[pin].danger]

    def in_words(self, arguments: Arguments) -> str:
        values = msgspec.structs.asdict(arguments)
        pin = self._pins.pins[values["pin"]]
        words = f"switch {values['pin']} (GPIO {pin.gpio} of the Pi) {values['value']}"
        if values[FOR_SECONDS]:
            return f"{words}, for {values[FOR_SECONDS]:g} s"
        if values["value"] == "on" and pin.max_on_s is not None:
            return f"{words}, for {pin.max_on_s:g} s at most"
        return words

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        values = msgspec.structs.asdict(arguments)
        name, wanted = values["pin"], values["value"]
        for_s = float(values[FOR_SECONDS])
        is_on = await in_time(partial(self._pins.write, name, on=wanted == "on", for_s=for_s))
        if _SWITCH[is_on] != wanted:
            trouble = own(
                "{} was switched {}, but reads the opposite", configured(name), configured(wanted)
            )
            return ToolResult.failed(trouble)
        told: dict[str, Fact] = {"pin": configured(name), "value": configured(wanted)}
        pin = self._pins.pins[name]
        if for_s:
            told |= {FOR_SECONDS: for_s, "then": configured(pin.safe)}
        elif is_on and pin.max_on_s is not None:
            told["max_on_s"] = pin.max_on_s
        return ToolResult.done(fields(told))


def _arguments(
    tool: str,
    pins: PiPins,
    fits: Callable[[PiPinSettings], bool],
    *further: tuple[Any, ...],
) -> type[Arguments]:
    known = {name: pin for name, pin in pins.pins.items() if fits(pin)}
    names = {name: (*pin.aliases, *pin.also) for name, pin in known.items()}
    facts = {
        name: facts_of(pin.place, pin.group, pin.opens, pin.safe) for name, pin in known.items()
    }
    fields: list[Any] = [("pin", one_of(names, facts)), *further]
    made = msgspec.defstruct(f"{tool}_arguments", fields, bases=(Arguments,), frozen=True)
    return cast("type[Arguments]", made)


def _is_output(pin: PiPinSettings) -> bool:
    return pin.kind == "output"


def _value(name: str, pins: PiPins) -> dict[str, Fact]:
    """Return a pin's value; one that cannot be had hides no other."""
    try:
        return {"value": configured(_SWITCH[pins.read(name)])}
    except PinRefused as err:
        return {"value": own("unknown"), "trouble": err.words(Provenance.SENSOR)}


def _told(name: str, pins: PiPins) -> dict[str, Fact]:
    pin = pins.pins[name]
    told: dict[str, Fact] = {
        "name": configured(name),
        "gpio": pin.gpio,
        "kind": configured(pin.kind),
        **_value(name, pins),
    }
    if pin.kind == "output":
        told |= {"safe": configured(pin.safe), "danger": configured(pin.danger)}
    if pin.max_on_s is not None:
        told["max_on_s"] = pin.max_on_s
    if pin.aliases:
        told["aliases"] = [configured(one) for one in pin.aliases]
    return told
