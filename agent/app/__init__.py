"""Composition: builds the parts of an agent from its settings, runs them, ends them."""
