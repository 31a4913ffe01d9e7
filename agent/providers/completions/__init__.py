"""OpenAI chat completions, and every service that speaks them."""
