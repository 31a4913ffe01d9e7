"""The protocol between the console and the agent."""
