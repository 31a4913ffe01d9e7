"""An enable line that keeps what it was told."""

from dataclasses import dataclass, field

from agent.errors import PinRefused


@dataclass
class RecordingLine:
    """`told` holds every switch in order."""

    told: list[bool] = field(default_factory=list)
    is_closed: bool = False

    def switch(self, *, on: bool) -> None:
        self.told.append(on)

    def close(self) -> None:
        self.is_closed = True


@dataclass
class TornLine(RecordingLine):
    """Whose chip is gone, until it is there again."""

    is_there: bool = False

    def switch(self, *, on: bool) -> None:
        if not self.is_there:
            raise PinRefused("GPIO 17 cannot be used: bad handle")
        super().switch(on=on)

    def close(self) -> None:
        raise PinRefused("GPIO 17 cannot be used: bad handle")
