"""Repairs that need no question; each says what it did."""
