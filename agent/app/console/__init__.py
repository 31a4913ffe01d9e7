"""Composition of the console's end in the agent; loaded only where `[console]` is configured."""
