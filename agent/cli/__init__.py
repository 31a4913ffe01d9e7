"""The barnacle command."""
