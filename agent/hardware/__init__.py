"""Boards outside of a turn: emergency stop, status light, watches, enable lines."""
