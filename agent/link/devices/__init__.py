"""The table of device kinds: one row for each kind of thing that may hang on a board's pins."""
