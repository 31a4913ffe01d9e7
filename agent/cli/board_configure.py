"""`barnacle board configure`: the pins and limits of the settings, put in place on the board.

Connecting has done it where it is tighter, and with `--yes` also where it is looser.
"""

from agent.cli import exits
from agent.cli.output import say
from agent.link.board import SerialBoard


def run(board: SerialBoard) -> int:
    if board.pending:
        say(f"{board.name} keeps its configuration, because the new one is looser:")
        for words in board.pending:
            say(f"  {words}")
        say("`barnacle board configure --yes` puts it in place")
        return exits.FAILED
    if board.misconfigured:
        say(f"{board.name}: {board.misconfigured}")
        return exits.FAILED
    say(f"{board.name} has the configuration of the settings")
    return exits.OK
