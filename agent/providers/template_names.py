"""Names of the templates in which models write their calls; light, for the configuration.

Most are names of files in `templates/`. The others are those of the reader itself.
"""

from typing import Final

# JSON between `<tool_call>` and its end: what a model is told to write that gets its tools in words
HERMES: Final = "hermes"
# `<function=name>` and `<invoke name="...">`, with a mark for each argument
TAGS: Final = "tags"
# An answer that is nothing but objects, bare or in a block of code
JSON: Final = "json"
# An answer that is nothing but `name(key="value")`
PYTHON: Final = "python"
GEMMA: Final = "gemma"
HARMONY: Final = "harmony"
PYTHONIC: Final = "pythonic"

TEMPLATE_NAMES: Final = (
    *("apertus", "command-r", "command-r7b", "deepseek", "dsml", "functionary", "functools"),
    *(GEMMA, HARMONY, HERMES, "internlm", JSON, "kimi", "llama", "minimax", "mistral"),
    *("phi", PYTHON, PYTHONIC, "react", TAGS),
)
# A model whose calls its service finds; nothing to configure: `tool_calls = "native"` says that
NATIVE: Final = "native"
