"""Long-term memory of the agent."""
