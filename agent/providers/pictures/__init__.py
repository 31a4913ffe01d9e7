"""Pictures that a person shows: `[IMAGE:...]` in a message, and their data for a model."""
