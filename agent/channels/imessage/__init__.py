"""iMessage, by a BlueBubbles server on a Mac that is logged in to an account of Apple's."""
