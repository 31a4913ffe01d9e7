"""`barnacle memory check`: compares what is kept twice, and mends it."""

from argparse import Namespace

from agent.cli import exits, memory_text
from agent.cli.memory_store import looked_into, place_of
from agent.cli.output import clean, say, say_json
from agent.memory.base import Inspects


async def run(arguments: Namespace) -> int:
    async with looked_into(place_of(arguments)) as memory:
        if not isinstance(memory, Inspects):
            say(f"the {memory.name} backend keeps nothing twice: there is nothing to compare")
            return exits.OK
        found = await memory.inspect()
    if arguments.json:
        say_json(
            {
                "memories": found.memories,
                "texts": found.texts,
                "words": found.words,
                "vectors": found.vectors,
                "doubtful": list(found.doubtful),
            }
        )
    else:
        say(found.sentence)
        for key in found.doubtful:
            memory_text.note(
                f"{clean(key)}: text and word index differ, and no snapshot has it; look at it with"
                " `barnacle memory show`, then store it again or run `barnacle memory rebuild`"
            )
    return exits.FAILED if found.doubtful else exits.OK
