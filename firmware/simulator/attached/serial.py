# Something that speaks over a UART: it answers words with words, and may speak by itself.

import world


class Thing:
    changeable = ("says",)

    def __init__(self, name, uart, replies=None):
        self.name = name
        # A UART is found by its number
        self.pin = uart
        self.quantities = ()
        self._replies = {key.encode(): value.encode() for key, value in (replies or {}).items()}
        self._heard = b""
        self._said = b""

    def tick(self, now_ms):
        pass

    @property
    def says(self):
        return ""

    @says.setter
    def says(self, text):
        self._said += text.encode()

    def hear(self, data):
        world.record({"event": "uart", "name": self.name, "text": data.decode("latin-1")})
        self._heard += data
        for question, answer in self._replies.items():
            if question in self._heard:
                self._heard = b""
                self._said += answer

    def waiting(self):
        return len(self._said)

    def say(self, limit):
        data, self._said = self._said[:limit], self._said[limit:]
        return data
