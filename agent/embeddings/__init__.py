"""Text to vectors, on the device."""
