# An SSD1306: dark until it is told everything in its order, and then what its memory holds.
#
# It records the text that a person would read, letters that its font does not have as "#".

import framebuf
import world

_COLUMNS = 128
_LETTERS = 16
# Commands that have a byte behind them
_LONG = (0xD5, 0xA8, 0xD3, 0x8D, 0x20, 0xDA, 0x81, 0xD9, 0xDB)
_PAGE_BY_PAGE = 2
_ALL = 100_000


class Thing:
    changeable = ("absent", "takes_bytes", "loses_power")

    def __init__(self, name, pin, address=0x3C, height=64):
        self.name = name
        self.pin = pin
        self.address = address
        self.quantities = ()
        self.absent = False
        # Of every transfer, before it stops acknowledging
        self.takes_bytes = _ALL
        self._height = height
        self._letters = {}
        self._sent = self._most = 0
        self._shown = None
        self._switch_on()

    @property
    def loses_power(self):
        return False

    @loses_power.setter
    def loses_power(self, _value):
        # For less than a pass: nobody sees it gone
        self._switch_on()

    def tick(self, now_ms):
        self._most = max(self._most, self._sent)
        self._sent = 0
        shown = self._lines() if self._is_lit() else []
        if shown != self._shown:
            self._shown = shown
            world.record(
                {"event": "display", "name": self.name, "lines": shown, "most_bytes": self._most}
            )

    def write(self, data):
        # Its address is a byte too
        self._sent += 1 + len(data)
        at = 0
        while at < len(data):
            control = data[at]
            if control == 0x80:
                for byte in data[at + 1 : at + 2]:
                    self._command(byte)
                at += 2
            elif control == 0x00:
                for byte in data[at + 1 :]:
                    self._command(byte)
                return
            elif control == 0x40:
                self._show(data[at + 1 :])
                return
            else:
                raise ValueError("no such control byte")

    def read(self, count):
        return bytes([0x00 if self._is_on else 0x40] * count)

    def _switch_on(self):
        self._is_on = False
        self._settings = {}
        self._open = []
        self._page = self._column = 0
        # Noise, as memory has at the start
        self._memory = bytearray((at * 73 + 41) % 256 for at in range(_COLUMNS * 8))

    def _command(self, byte):
        if self._open:
            self._settings[self._open.pop()] = byte
        elif byte in _LONG:
            self._open.append(byte)
        elif byte in (0xAE, 0xAF):
            self._is_on = byte == 0xAF
        elif 0xB0 <= byte <= 0xB7:
            self._page = byte & 7
        elif byte < 0x10:
            self._column = self._column & 0xF0 | byte
        elif byte < 0x20:
            self._column = self._column & 0x0F | (byte & 0x0F) << 4

    def _show(self, data):
        for byte in data:
            self._memory[self._page * _COLUMNS + self._column] = byte
            self._column = (self._column + 1) % _COLUMNS

    def _is_lit(self):
        # Without its charge pump it has no voltage to shine with
        wanted = ((0x8D, 0x14), (0x20, _PAGE_BY_PAGE), (0xA8, self._height - 1))
        return self._is_on and all(self._settings.get(key) == value for key, value in wanted)

    def _lines(self):
        if not self._letters:
            self._learn()
        return [self._line(page) for page in range(self._height // 8)]

    def _line(self, page):
        begin = page * _COLUMNS
        found = [
            self._letters.get(bytes(self._memory[begin + at * 8 : begin + at * 8 + 8]), "#")
            for at in range(_LETTERS)
        ]
        return "".join(found)

    def _learn(self):
        shape = bytearray(8)
        drawing = framebuf.FrameBuffer(shape, 8, 8, framebuf.MONO_VLSB)
        for code in range(0x20, 0x7F):
            drawing.fill(0)
            drawing.text(chr(code), 0, 0)
            self._letters[bytes(shape)] = chr(code)
