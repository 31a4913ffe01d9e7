"""Pictures that a person shows: `[IMAGE:...]` in a message, and what a model gets for it."""
