"""What may be done, and by whose word."""
