"""Access: who may write to the agent, their roles, pairing, and where the owner is reached."""
