"""Templates of tool calls in text, one file for each vendor's form."""
