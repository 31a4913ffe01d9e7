"""OpenAI Responses, the newer of its two wire formats."""
