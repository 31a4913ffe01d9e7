# Stands in for MicroPython's pyb module while power cuts are tried: its Flash is the board's.
