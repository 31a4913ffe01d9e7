"""Anthropic messages, and the services that speak them."""
