"""What arrived while nobody greeted back, and what that says of the device at the other end."""

# Enough of the latest bytes to recognise a prompt in
_KEPT_BYTES = 512
# What each kind of stranger writes, and what to tell the person
_STRANGERS = (
    (
        (b">>>", b"raw REPL", b"Traceback (most recent call last)", b"MicroPython"),
        (
            "a MicroPython prompt answers at {path}, not the Barnacle firmware: "
            "flash it with `scripts/flash --board NAME --port {path}` (scripts/flash lists the "
            "names), or close the program that stopped it"
        ),
    ),
    ((b"login:", b"Password:"), "a login prompt answers at {path}: choose another port"),
)


class Overheard:
    """The last bytes of a device that has not greeted back."""

    def __init__(self) -> None:
        self.is_echo = False
        self._kept = bytearray()

    def add(self, data: bytes) -> None:
        self._kept += data
        del self._kept[:-_KEPT_BYTES]

    def sentence(self, path: str) -> str:
        """Why there is no session, for a person."""
        if self.is_echo:
            return f"{path} only echoes what is sent: is its receive pin wired to its own output?"
        if not self._kept:
            return f"nothing answers at {path}: is the Barnacle firmware on the board?"
        for signs, sentence in _STRANGERS:
            if any(sign in self._kept for sign in signs):
                return sentence.format(path=path)
        return f"what arrives at {path} is not the board's protocol: wrong device or wrong baud"
