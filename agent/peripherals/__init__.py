"""The Pi's own pins."""
