"""A board without a link: led, pump, relay, button, a0 and a temperature, all in memory.

It takes and refuses exactly what a real one would (same packing, same manifest text), keeps a
record of every change, and can be unplugged.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from agent.errors import CallRefused, LinkLost, OutcomeUnknown
from agent.link.base import BoardIdentity, BoardState, BoardStatus, Unsubscribe, Value
from agent.link.counters import Counters
from agent.link.manifest import Manifest, read_manifest
from agent.link.value_codec import pack
from agent.passage import configured, echo, own

ON_OFF = ["off", "on"]
MANIFEST_JSON = json.dumps(
    {
        "manifest": 1,
        "board": "simulated",
        "methods": [
            {
                "id": 16,
                "name": "gpio_write",
                "about": "Switch an output on or off. "
                "It returns to its safe value when nobody renews it.",
                "arguments": [
                    {"name": "pin", "format": "B", "pins": "out"},
                    {"name": "value", "format": "B", "choices": ON_OFF},
                ],
                "result": [{"name": "value", "format": "B", "choices": ON_OFF}],
                "safety": "actuate",
                "idempotent": True,
                "lease": True,
            },
            {
                "id": 17,
                "name": "gpio_read",
                "about": "Read whether a pin is on or off.",
                "arguments": [{"name": "pin", "format": "B", "pins": "in"}],
                "result": [{"name": "value", "format": "B", "choices": ON_OFF}],
                "safety": "read",
                "idempotent": True,
            },
            {
                "id": 18,
                "name": "adc_read",
                "about": "Measure the voltage at an analog pin.",
                "arguments": [{"name": "pin", "format": "B", "pins": "adc"}],
                "result": [{"name": "value", "format": "H", "unit": "V", "scale": 0.001}],
                "safety": "read",
                "idempotent": True,
            },
            {
                "id": 19,
                "name": "mcu_temperature",
                "about": "Measure the temperature of the board's microcontroller.",
                "result": [{"name": "value", "format": "h", "unit": "°C", "scale": 0.1}],
                "safety": "read",
                "idempotent": True,
            },
        ],
        "events": [],
        "pins": [
            {
                "index": 0,
                "name": "led",
                "pin": "PC13",
                "aliases": ["blue led", "light"],
                "can": ["in", "out"],
                "active_low": True,
            },
            {"index": 1, "name": "pump", "pin": "PB0", "can": ["in", "out"]},
            {"index": 2, "name": "relay", "pin": "PB1", "can": ["in", "out"]},
            {"index": 3, "name": "button", "pin": "PA0", "aliases": ["key"], "can": ["in"]},
            {"index": 4, "name": "a0", "pin": "PA1", "aliases": ["moisture"], "can": ["adc"]},
        ],
    },
    ensure_ascii=False,
).encode()


@dataclass
class FakeBoard:
    """A board that answers at once.

    Args:
        values: what each pin shows now; a test writes them as the world would.
        record: every change that a call made, in order.
    """

    name: str = "board"
    temperature: float = 24.5
    values: dict[str, float | str] = field(
        default_factory=lambda: {
            "led": "off",
            "pump": "off",
            "relay": "off",
            "button": "off",
            "a0": 1.234,
        }
    )
    record: list[tuple[str, str]] = field(default_factory=list)
    plugged_in: bool = True
    # The next call acts and its answer is lost
    loses_next_answer: bool = False
    released: int = 0
    # Outputs whose lease is not renewed any more
    let_gone: list[str] = field(default_factory=list)
    is_stopped: bool = False
    is_locked: bool = False
    # What its new configuration would loosen
    pending: tuple[str, ...] = ()
    trouble: str = "nothing is plugged in"
    # Methods of the link itself, which no manifest describes
    link_methods: dict[int, Callable[[bytes], bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.manifest: Manifest | None = read_manifest(MANIFEST_JSON)
        self.counters = Counters()
        self._listeners: list[Callable[[Manifest], None]] = []

    @property
    def status(self) -> BoardStatus:
        if not self.plugged_in:
            return BoardStatus(BoardState.ABSENT, "/dev/fake-board", trouble=self.trouble)
        identity = BoardIdentity(
            board="simulated",
            unique_id="00112233445566778899aabb",
            firmware="0.1.0",
            build=1,
            protocol=1,
            reset_cause="power-on",
            boot_count=1,
            flash_class="none",
        )
        return BoardStatus(BoardState.READY, "/dev/fake-board", identity)

    async def call(self, method: str, arguments: Mapping[str, Value]) -> dict[str, Value]:
        if not self.plugged_in or self.manifest is None:
            raise LinkLost(configured(self.trouble))
        described = self.manifest.method(method)
        if described is None:
            raise CallRefused("not_supported", echo(f"this board has no {method}"))
        pack(self.manifest, described, arguments)
        result = self._run(method, arguments)
        if self.loses_next_answer:
            self.loses_next_answer = False
            self.unplug()
            raise OutcomeUnknown(own("the connection was lost before the answer came"))
        return result

    async def exchange(self, method: int, arguments: bytes) -> bytes:
        if not self.plugged_in:
            raise LinkLost(configured(self.trouble))
        if method not in self.link_methods:
            raise CallRefused("not_supported", "this board has no such method")
        return self.link_methods[method](arguments)

    @property
    def held(self) -> frozenset[str]:
        outputs = ("led", "pump", "relay")
        return frozenset(pin for pin in outputs if self.values.get(pin, "off") != "off")

    def let_go(self, pin: str) -> bool:
        self.let_gone.append(pin)
        return self.values.get(pin) not in {None, "off"}

    async def release(self) -> None:
        self.released += 1
        self._make_safe()

    def stop(self) -> None:
        self.is_stopped = self.is_locked = True
        self._make_safe()

    def allow(self) -> None:
        self.is_stopped = False

    def agree(self) -> None:
        self.pending = ()

    async def unlock(self) -> str:
        was_locked, self.is_locked = self.is_locked, False
        return f"{self.name}: {'released' if was_locked else 'nothing was locked'}."

    def on_manifest(self, listener: Callable[[Manifest], None]) -> Unsubscribe:
        self._listeners.append(listener)
        if self.manifest is not None:
            listener(self.manifest)
        return lambda: self._listeners.remove(listener)

    def learn(self, manifest: Manifest) -> None:
        """Become another board, as after an update of the firmware."""
        self.manifest = manifest
        for listener in self._listeners:
            listener(manifest)

    def unplug(self) -> None:
        """Pull the cable: outputs go to their safe values by their leases."""
        self.plugged_in = False
        self._make_safe()

    def plug_in(self) -> None:
        self.plugged_in = True

    def press(self, *, down: bool) -> None:
        self.values["button"] = "on" if down else "off"

    def _run(self, method: str, arguments: Mapping[str, Value]) -> dict[str, Value]:
        if method == "mcu_temperature":
            return {"value": self.temperature}
        pin = str(arguments["pin"])
        if method == "gpio_write":
            self._set(pin, str(arguments["value"]))
        return {"value": self.values[pin]}

    def _set(self, pin: str, value: str) -> None:
        self.values[pin] = value
        self.record.append((pin, value))

    def _make_safe(self) -> None:
        for pin in ("led", "pump", "relay"):
            if self.values[pin] != "off":
                self._set(pin, "off")
