"""Barnacle: an AI agent that lives on a Raspberry Pi and owns an STM32 board."""

__version__ = "0.2.0"
