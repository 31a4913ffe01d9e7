# Stands in for `machine` at the prompt of a NUCLEO-F411RE under MicroPython's stm32 port, for
# firmware/prompt/board_question.py. Timers, analog inputs and names are those of ST's data sheet
# (DS10314, alternate functions) and user manual (UM1724, connectors).

# Name, what is printed or soldered there, the timers with a function on it
_TABLE = """
A0 A0 TIM2 TIM5
A1 A1 TIM2 TIM5
A2 D1 TIM2 TIM5 TIM9
A3 D0 TIM2 TIM5 TIM9
A4 A2
A5 D13,LED_GREEN TIM2
A6 D12 TIM1 TIM3
A7 D11 TIM1 TIM3
A8 D7 TIM1
A9 D8 TIM1
A10 D2 TIM1
A11 USB_DM TIM1
A12 USB_DP TIM1
A13 SWDIO
A14 SWCLK
B0 A3 TIM1 TIM3
B3 D3,SWO TIM2
B4 D5 TIM3
B5 D4 TIM3
B6 D10 TIM4
B9 D14 TIM4 TIM11
B12 PB12
C0 A5
C13 SW,B1
"""
# The console, and the debugger's lines, are in use before anybody asks
_IN_USE = ("A2", "A3", "A13", "A14", "B3")
_ANALOG = ("A0", "A1", "A2", "A3", "A4", "A5", "A6", "A7", "B0", "C0")
_LIGHT = "A5"
_BUTTON = "C13"


class _Function:
    def __init__(self, timer):
        self._timer = timer

    def __repr__(self):
        return "Pin.AF1_" + self._timer


class Pin:
    IN = 0
    OUT = 1

    def __init__(self, name, names, timers):
        self._name = name
        self._names = names
        self._timers = timers
        self.mode = "ALT" if name in _IN_USE else "OUT" if name == _LIGHT else "IN"
        # The button is open, with a pull-up on the board
        self.level = 1 if name == _BUTTON else 0

    def name(self):
        return self._name

    def names(self):
        return [self._name] + self._names  # noqa: RUF005  - as the port makes it

    def af_list(self):
        return [_Function(timer) for timer in self._timers]

    def init(self, mode):
        self.mode = "OUT" if mode == self.OUT else "IN"

    def value(self):
        return self.level

    def __repr__(self):
        return "Pin(Pin.cpu.%s, mode=Pin.%s)" % (self._name, self.mode)


class _Names:
    pass


Pin.cpu, Pin.board = _Names(), _Names()
for _line in _TABLE.strip().split("\n"):
    _words = _line.split(" ")
    _made = Pin(_words[0], _words[1].split(","), _words[2:])
    setattr(Pin.cpu, _words[0], _made)
    for _name in _words[1].split(","):
        setattr(Pin.board, _name, _made)


def ADC(pin):  # noqa: N802  - MicroPython's name
    if pin.name() not in _ANALOG:
        raise ValueError("Pin(%s) doesn't have ADC capabilities" % pin.name())
    # As the port does: its mode is another one from now on
    pin.mode = "ANALOG"


def reset():
    # The board goes away; a sign of it is left for who looks
    with open("reset", "w"):
        pass
    raise SystemExit


class _Memory:
    # Keeps what is written; anything else is 0

    def __init__(self):
        self._words = {}

    def __getitem__(self, address):
        return self._words.get(address, 0)

    def __setitem__(self, address, value):
        self._words[address] = value


mem32 = _Memory()
