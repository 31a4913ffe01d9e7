"""Diagnostics, in sentences."""
