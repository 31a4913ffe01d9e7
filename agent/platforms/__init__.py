"""The chat platforms, each composed in a file of its own that is loaded where it is configured."""
