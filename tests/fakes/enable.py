"""An enable line that keeps what it was told."""

from dataclasses import dataclass, field


@dataclass
class RecordingLine:
    """`told` holds every switch in order."""

    told: list[bool] = field(default_factory=list)
    is_closed: bool = False

    def switch(self, *, on: bool) -> None:
        self.told.append(on)

    def close(self) -> None:
        self.is_closed = True
