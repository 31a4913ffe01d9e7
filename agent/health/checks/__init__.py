"""Health checks, one file for each thing; each check returns one sentence."""
