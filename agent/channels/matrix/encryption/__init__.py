"""Encrypted rooms of Matrix; loaded where the libraries of the extra `matrix` are installed."""
