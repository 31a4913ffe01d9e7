"""A board without our firmware: noticed, asked about, given MicroPython and the firmware."""
