"""Jobs that run at a time."""
