# An SSD1306: a small display over I2C, 16 letters to a line, 4 or 8 lines.
#
# It keeps the text and draws one line of it at a time: a whole picture would take a kilobyte. What
# has changed is sent a piece in a pass of the loop, each a transfer of its own that says where it
# belongs, so that others on the bus come between and a lost piece harms nothing else. Commands are
# those of its data sheet (Solomon Systech, 9 and 10).

from time import ticks_add, ticks_diff, ticks_ms

import frame
import framebuf
from micropython import const
from node.calls import Refusal, need
from node.devices import data
from node.devices.i2c import open_bus, require_free

DISPLAY_WRITE = 44

_COLUMNS = const(128)
_LETTERS = const(16)
# Lines are as high as letters, and as the display's own pages
_HIGH = const(8)
_TEXT_MOST = const(128)
# With its address and where it belongs 24 bytes, 2.3 ms at 100 kHz
_PIECE = const(16)
_HEAD = const(7)
# One without power for a moment has forgotten everything: it is told again
_RENEW_MS = const(5_000)
_AGAIN_MS = const(1_000)
# What a bus that is held says
_TIMED_OUT = const(110)
# Clock, offset, first line, charge pump, page by page, turned as modules are mounted, contrast,
# precharge, levels; the height and its wiring are in between. Not on: its memory has noise in it
_BEFORE = b"\x00\xd5\x80\xd3\x00\x40\x8d\x14\x20\x02\xa1\xc8\x81\x7f\xd9\xf1\xdb\x40\xa4\xa6\xa8"
_ON = b"\x00\xaf"
_SPACE, _LAST, _QUESTION, _NEW_LINE = b" ~?\n"


class Ssd1306:
    def __init__(self, entry):
        height = entry["height"]
        if height not in (32, 64):
            raise ValueError("height is 32 or 64")
        self._address = entry["address"]
        self._bus = open_bus(entry)
        self._sda = entry["sda"]
        self._lines = height // _HIGH
        self._settings = _BEFORE + bytes([height - 1, 0xDA, 0x12 if height == 64 else 0x02])
        self._text = bytearray(b" " * (_LETTERS * self._lines))
        self._row = bytearray(_COLUMNS)
        self._drawing = framebuf.FrameBuffer(self._row, _COLUMNS, _HIGH, framebuf.MONO_VLSB)
        self._piece = bytearray(_HEAD + _PIECE)
        self._trouble = ""
        self._next_ms = ticks_ms()
        self._begin()

    def handlers(self):
        return {DISPLAY_WRITE: self._write}

    def tick(self, now_ms):
        if ticks_diff(now_ms, self._next_ms) < 0:
            return
        try:
            self._step(now_ms)
            require_free(self._sda)
        except OSError as fault:
            self._begin()
            self._next_ms = ticks_add(now_ms, _AGAIN_MS)
            if fault.errno == _TIMED_OUT:
                self._trouble = "something holds the bus"
            else:
                self._trouble = "no SSD1306 answers at address %d" % self._address
        else:
            self._trouble = ""

    def _begin(self):
        self._is_set_up = False
        self._is_on = False
        # Bit n: line n is not yet as it should be
        self._waiting = (1 << self._lines) - 1
        self._line = 0
        # The next column to send; beyond the last one when no line is under way
        self._column = _COLUMNS

    def _step(self, now_ms):
        # One transfer at most
        if not self._is_set_up:
            self._send(self._settings)
            self._is_set_up = True
        elif self._column < _COLUMNS or self._waiting:
            self._send_piece()
        elif not self._is_on:
            self._send(_ON)
            self._is_on = True
            self._next_ms = ticks_add(now_ms, _RENEW_MS)
        elif ticks_diff(now_ms, self._next_ms) >= 0:
            self._begin()

    def _send_piece(self):
        if self._column >= _COLUMNS:
            self._draw()
        column = self._column
        piece = self._piece
        # Page, low and high half of the column, then what is shown there
        piece[0] = piece[2] = piece[4] = 0x80
        piece[1] = 0xB0 | self._line
        piece[3] = column & 0x0F
        piece[5] = 0x10 | column >> 4
        piece[6] = 0x40
        piece[_HEAD:] = memoryview(self._row)[column : column + _PIECE]
        self._send(piece)
        self._column = column + _PIECE

    def _send(self, given):
        if self._bus.writeto(self._address, given) != len(given):
            raise OSError(0)

    def _draw(self):
        while not self._waiting >> self._line & 1:
            self._line = (self._line + 1) % self._lines
        self._waiting &= ~(1 << self._line)
        begin = self._line * _LETTERS
        self._drawing.fill(0)
        self._drawing.text(str(self._text[begin : begin + _LETTERS], "ascii"), 0, 0)
        self._column = 0

    def _write(self, arguments, answer, _outputs):
        need(arguments, 2)
        line = arguments[1]
        if line >= self._lines:
            raise Refusal(frame.OUT_OF_RANGE, "this display has %d lines" % self._lines)
        given = data.take(arguments, 2, _TEXT_MOST)
        if self._trouble:
            raise Refusal(frame.IO, self._trouble)
        first = line * _LETTERS
        self._put(first, given)
        # What was waiting for its next renewal is not any more
        self._next_ms = ticks_ms()
        return data.put(answer, memoryview(self._text)[first:], len(self._text) - first)

    def _put(self, at, given):
        # From that letter on, and to the end of the line that the text ends in
        end = at
        for byte in given:
            if at >= len(self._text):
                break
            if byte == _NEW_LINE:
                end = at = self._blank(at)
            elif byte & 0xC0 != 0x80:
                # What follows the first byte of a letter that it does not have is left out
                self._text[at] = byte if _SPACE <= byte <= _LAST else _QUESTION
                self._waiting |= 1 << at // _LETTERS
                at += 1
                end = at
        if end % _LETTERS:
            self._blank(end)

    def _blank(self, at):
        # To the end of its line; returns where the next one begins
        end = (at // _LETTERS + 1) * _LETTERS
        while at < end:
            self._text[at] = _SPACE
            self._waiting |= 1 << at // _LETTERS
            at += 1
        return end
