"""Signal, by a signal-cli daemon over HTTP: an account of the agent's, or of its owner."""
