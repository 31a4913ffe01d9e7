"""Model Context Protocol: the agent's tools and readings for other assistants' models."""
