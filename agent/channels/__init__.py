"""Ways to talk to a person."""
