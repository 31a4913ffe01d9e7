"""Whether it works, in sentences."""
