"""One turn with the model: prompt, history, tool calls, and the text of the answer."""
