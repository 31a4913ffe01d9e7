"""`barnacle board describe`: ask a board for its pins and write its board file."""

from argparse import Namespace
from pathlib import Path

from agent.cli import configuration, exits
from agent.cli.board_visit import chosen, refuse_if_taken
from agent.cli.output import say
from agent.cli.places import check_writable, places_of
from agent.errors import BadArguments
from agent.link.board_description import BoardFacts, board_name, board_table, read_facts
from agent.link.port import open_port
from agent.link.prompt import Prompt, prompt_program
from agent.link.settings import START_BAUD
from agent.provision.toml_text import dumps
from agent.storage.files import write_atomic

# Beside the configuration, where scripts/flash looks
FOLDER = "boards"
_HEAD = """\
# What this board said of itself at MicroPython's prompt (`barnacle board describe`). Read it once:
# no board can say what is soldered to a pin, or what its supply is. Take out of [usable] what
# belongs to something else.

"""


async def run(arguments: Namespace) -> int:
    places = places_of(arguments)
    check_writable(places.config, "board describe")
    settings, paths = configuration.load_as_root(arguments)
    wanted = chosen(settings, arguments)
    if not wanted.port:
        raise BadArguments("which port? `barnacle board list` shows them; add --port /dev/ttyACM0")
    refuse_if_taken(wanted, paths)
    facts = await _asked(wanted.port)
    folder = places.config.parent / FOLDER
    path = folder / f"{board_name(facts).replace('-', '_')}.toml"
    if path.exists() and not arguments.force:
        raise BadArguments(f"{path} is there already; --force replaces it")
    table = board_table(facts)
    write_atomic(path, (_HEAD + dumps(table)).encode())
    _tell(facts, table, path)
    return exits.OK


async def _asked(path: str) -> BoardFacts:
    port = await open_port(path, START_BAUD)
    try:
        prompt = Prompt(port)
        await prompt.reach(say)
        said = await prompt.run(prompt_program("board_question.py"))
    finally:
        await port.aclose()
    # A fault of the program would be told there too
    lines = [line for line in said.splitlines() if line.strip()]
    return read_facts(lines[-1] if lines else "")


def _tell(facts: BoardFacts, table: dict[str, object], path: Path) -> None:
    usable = table["usable"]
    free = len(usable) if isinstance(usable, dict) else 0
    heap_kb, blocks = facts.heap_bytes // 1000, facts.flash_blocks
    say(f"{facts.board}: {len(facts.pins)} pins, {free} of them free, {len(facts.lights)} LEDs")
    say(f"{heap_kb} KB for Python, {blocks // 2} KB for files")
    say(f"written: {path}")
    say(f"Read it once, then: scripts/flash --board {path.stem} --port PORT")
