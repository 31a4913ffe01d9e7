# Stands in for the few things of MicroPython's pyb module that the firmware uses.

import world


class ADCAll:
    def __init__(self, resolution, mask):
        pass

    def read_core_vref(self):
        return 1.21

    def read_core_temp(self):
        return world.temperature()
