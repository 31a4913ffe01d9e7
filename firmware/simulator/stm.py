# Stands in for MicroPython's stm module: the names of registers.

RTC = 0
RTC_BKP19R = 156
