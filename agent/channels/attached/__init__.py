"""Terminals attached to a running agent through a Unix socket."""
