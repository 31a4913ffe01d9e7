# Stands in for MicroPython's machine module while power cuts are tried: its flash is the board's.

mem32 = mem16 = None
