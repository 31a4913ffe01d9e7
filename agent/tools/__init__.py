"""What a model may ask for."""
