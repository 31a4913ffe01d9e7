"""A channel for programs of one's own: signed requests in, signed requests out."""
