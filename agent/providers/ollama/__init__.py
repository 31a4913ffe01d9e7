"""Ollama's own interface: unlike its imitation of another one, it takes the size of the window."""
