"""Gateways by op codes: Discord's, and those modelled on it."""
