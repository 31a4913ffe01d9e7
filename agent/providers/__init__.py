"""Ways to a language model, and the one that needs none."""
