"""Senses of the machine while the agent runs: one file for each thing that can hurt."""
