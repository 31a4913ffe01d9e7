"""A registry with more tools than a model is shown at once, with the words of the real ones."""

from agent.messages import Effect, Provenance, ToolResult
from agent.passage import echo
from agent.tools.base import AnyTool, Arguments, Tool, ToolContext
from agent.tools.registry import Registry
from tests.fakes.said import tool_result

# Names and descriptions as a board with its devices has them
WORDS = {
    "board_counter_read": "How many pulses were counted, and for how long.",
    "board_gpio_read": "Read whether a pin is on or off.",
    "board_gpio_write": "Switch an output on or off.",
    "board_i2c_scan": "The addresses, in hex, at which something answers on an I2C bus.",
    "board_info": "State of the board, its pins by name, and what can be asked of it.",
    "board_pixels_write": "Give count pixels from first on one colour; the others keep theirs.",
    "board_servo_write": "Turn a servo to an angle; -1 releases it.",
    "board_supply_read": "Measure the supply voltage of the board's microcontroller.",
    "datasheet_search": "Search the datasheets and notes that the owner put into a folder.",
    "memory_forget": "Delete a memory for good, or everything that came from one source.",
    "memory_list": "List what is remembered of this person, with its sources.",
    "memory_source": "Tell who said a memory, where and when.",
    "reflex_add": "Teach the board a rule that it runs by itself, also without you.",
    "reflex_list": "The rules that the board runs by itself, how often each acted.",
    "time_now": "The current date, time and weekday.",
    "watch_add": "Watch a reading of the board from now on: tell the owner when it changes.",
    "watch_remove": "Stop a watch by its name.",
}
PADDING = " It says more about itself than there is room for." * 12


class PinArguments(Arguments, frozen=True):
    pin: str = ""


class NamedTool(Tool[PinArguments]):
    """Does nothing, under whatever name it is given."""

    reads = Provenance.WEB
    effect = Effect.READ
    arguments_type = PinArguments

    def __init__(self, name: str, description: str) -> None:
        self.name = name
        self.description = echo(description)
        self.uses: list[Provenance] = []

    async def execute(self, arguments: PinArguments, context: ToolContext) -> ToolResult:
        self.uses.append(context.provenance)
        return tool_result(success=True, text=f'{{"done":"{self.name}"}}')


def many_tools() -> list[AnyTool]:
    return [NamedTool(name, f"{words}{PADDING}") for name, words in WORDS.items()]


def crowded() -> Registry:
    return Registry(many_tools())
