"""Gateways that speak in op codes, as Discord's does and those that were modelled on it."""
