"""`barnacle board disable`: the outputs' power goes off, when no agent is there to do it.

What the service runs after every end of the agent: a process that was killed switches nothing.
"""

from collections.abc import Sequence

from agent.cli import exits
from agent.dispatch.enabling import open_lines


def run(gpios: Sequence[int]) -> int:
    """Opening a line switches it off; one that an agent still holds is refused to us."""
    for line in open_lines(gpios):
        line.close()
    named = ", ".join(f"GPIO {gpio}" for gpio in gpios)
    print(f"off: {named}" if named else "nothing to switch off: no board has an enable_gpio")
    return exits.OK
