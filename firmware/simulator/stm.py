# Stands in for MicroPython's stm module: registers by their names, as an STM32F411 has them.

RTC = 0x40002800
RTC_BKP19R = 156
