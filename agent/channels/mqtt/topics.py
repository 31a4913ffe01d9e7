"""The topics of a device: what is written to it, what it says, and what its boards show."""

import re
from dataclasses import dataclass

# Who writes for the home: commands to pins come as if said by it
HOME = "home"
ONLINE, OFFLINE = "online", "offline"
# A level of a topic that is somebody's name; the rest of what MQTT allows is of no use in one
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9@._:-]{0,63}")


@dataclass(frozen=True, slots=True)
class Topics:
    """Everything is below `base`."""

    base: str

    @property
    def status(self) -> str:
        return f"{self.base}/status"

    @property
    def inbox(self) -> str:
        """The filter of what people and programs write."""
        return f"{self.base}/in/+"

    @property
    def commands(self) -> str:
        """The filter of what pins are to be set to."""
        return f"{self.base}/board/+/+/set"

    def answers_for(self, sender: str) -> str:
        return f"{self.base}/out/{sender}"

    def board(self, board: str) -> str:
        return f"{self.base}/board/{board}"

    def value(self, board: str, name: str) -> str:
        return f"{self.board(board)}/{name}"

    def command(self, board: str, name: str) -> str:
        return f"{self.value(board, name)}/set"

    def sender_of(self, topic: str) -> str:
        """Return the writer of that topic; empty if it has no name."""
        levels = topic.removeprefix(f"{self.base}/in/").split("/")
        is_named = topic.startswith(f"{self.base}/in/") and len(levels) == 1
        return levels[0] if is_named and _NAME.fullmatch(levels[0]) else ""

    def pin_of(self, topic: str) -> tuple[str, str] | None:
        """The board and the pin that a command is for."""
        if not topic.startswith(f"{self.base}/board/"):
            return None
        match topic.removeprefix(f"{self.base}/board/").split("/"):
            case [board, pin, "set"]:
                return board, pin
        return None
