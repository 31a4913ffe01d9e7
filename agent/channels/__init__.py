"""Channels: ways to talk to a person."""
