"""Readings that are remembered: recorded, kept, asked and drawn."""
