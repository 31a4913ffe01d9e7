"""Matrix, by the client-server API of any homeserver: an account that people write to."""
