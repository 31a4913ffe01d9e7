"""Wyoming: the agent as a conversation agent of Home Assistant."""
