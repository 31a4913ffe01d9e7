"""Bytes from a device that did not greet back, and what they reveal about it."""

# A sign may arrive in two reads: so much of the latest bytes is looked at again
_KEPT_BYTES = 64
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
    """Bytes of a device that has not greeted back."""

    def __init__(self) -> None:
        self.is_echo = False
        self._latest = b""
        # Once seen, for good: a prompt that echoes our greetings soon says nothing else
        self._stranger = ""

    def add(self, data: bytes) -> None:
        heard = self._latest + data
        if not self._stranger:
            self._stranger = _stranger_of(heard)
        self._latest = heard[-_KEPT_BYTES:]

    def sentence(self, path: str) -> str:
        """Return why there is no session, as a sentence for a person."""
        # First: a prompt may echo a greeting whole
        if self._stranger:
            return self._stranger.format(path=path)
        if self.is_echo:
            return f"{path} only echoes what is sent: is its receive pin wired to its own output?"
        if not self._latest:
            return f"nothing answers at {path}: is the Barnacle firmware on the board?"
        return f"what arrives at {path} is not the board's protocol: wrong device or wrong baud"


def _stranger_of(heard: bytes) -> str:
    for signs, sentence in _STRANGERS:
        if any(sign in heard for sign in signs):
            return sentence
    return ""
