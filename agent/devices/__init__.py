"""Devices of one owner that use one another's readings and lent pins."""
