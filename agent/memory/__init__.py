"""What the agent remembers."""
