"""Twenty tasks that tell how far a model can be trusted with a board, without a board."""
