"""Tool calls in words, for models that take no tools."""
