"""Pins that a test can look at, in the shape of MicroPython's."""


class RecordedPin:
    """Remembers every level it was driven to, and whether it was ever made an output."""

    OUT = 1

    def __init__(self) -> None:
        self.levels: list[int] = []
        self.mode: int | None = None

    def init(self, mode: int, value: int) -> None:
        self.mode = mode
        self.levels.append(value)

    def value(self, level: int | None = None) -> int | None:
        if level is None:
            return self.levels[-1]
        self.levels.append(level)
        return None


class ShortedPin(RecordedPin):
    """Reads low whatever it is driven to."""

    def value(self, level: int | None = None) -> int | None:
        super().value(level)
        return 0 if level is None else None


class BrokenPin(RecordedPin):
    """Fails when it is driven to on."""

    def value(self, level: int | None = None) -> int | None:
        if level == 1:
            raise OSError(5)
        return super().value(level)


class StuckPin(RecordedPin):
    """Fails the first times when it is driven to off, and stays as it was."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self._left = failures

    def value(self, level: int | None = None) -> int | None:
        if level == 0 and self._left:
            self._left -= 1
            raise OSError(5)
        return super().value(level)
