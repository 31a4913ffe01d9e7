"""Letters: what comes to a mailbox of the agent's own, and its answers by submission."""
