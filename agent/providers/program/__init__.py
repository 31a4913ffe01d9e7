"""Program as a model: it takes a prompt and answers on its standard output."""
