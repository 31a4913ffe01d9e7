"""Senses of the machine while the agent runs."""
