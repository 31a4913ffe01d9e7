"""Home Assistant: its entities as things that the agent may look at and switch."""
