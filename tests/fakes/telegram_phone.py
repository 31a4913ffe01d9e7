"""A telephone in a terminal, on a Bot API server of its own: to try the agent by hand.

`python -m tests.fakes.telegram_phone` prints the table for the configuration. Then each line is a
message of Anna's; `!Yes` presses that button under the last question.
"""

import asyncio
import sys

from tests.fakes.telegram_server import TelegramServer, running
from tests.fakes.telegram_world import Json

_LOOK_S = 0.05
_TABLE = '[channels.telegram]\ntoken = "{}"\nbase_url = "{}"\n'


async def main() -> None:
    async with running() as server, asyncio.TaskGroup() as tasks:
        _say(_TABLE.format(server.token, server.base_url))
        showing = tasks.create_task(_show(server))
        while line := await asyncio.to_thread(sys.stdin.readline):
            await _act(server, line.strip())
        showing.cancel()


async def _act(server: TelegramServer, line: str) -> None:
    world = server.world
    if not line.startswith("!"):
        await world.write(line)
        return
    questions = [one for one in world.sent if one.get("reply_markup")]
    if not questions or line[1:] not in _buttons(questions[-1]):
        _say("(there is no such button)")
        return
    await world.press(questions[-1], line[1:])


async def _show(server: TelegramServer) -> None:
    """What comes, as it comes: growing drafts, messages, and what became of them."""
    world, drafts, sent, edits = server.world, 0, 0, 0
    while True:
        for one in world.drafts[drafts:]:
            _say(f"  ... {one['text']}")
        for one in world.sent[sent:]:
            keys = " ".join(f"[{label}]" for label in _buttons(one))
            _say(f"Barnacle: {one.get('text', '(a file)')}{f'  {keys}' if keys else ''}")
        for one in world.edits[edits:]:
            _say(f"  (now: {one['text']})")
        drafts, sent, edits = len(world.drafts), len(world.sent), len(world.edits)
        await asyncio.sleep(_LOOK_S)


def _buttons(message: Json) -> list[str]:
    rows = message.get("reply_markup", {}).get("inline_keyboard", [])
    return [str(key["text"]) for row in rows for key in row]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
