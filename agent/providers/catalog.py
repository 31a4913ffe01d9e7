"""Catalog of known model services: their addresses, and the form of a request.

Data alone. An address of one's own goes with `custom:` (chat completions) or
`anthropic-custom:` before it.
"""

import enum
from collections.abc import Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

# A model on a small machine is loaded, reads the prompt and writes a call without sending a byte;
# less than a whole answer may usually take, so that it is that limit which is told and raised
OWN_MACHINE_PATIENCE_S = 110.0
# A stream that began at once says nothing while the model thinks: half a minute for a question of
# some weight, twice that for the longest answer as it is configured
THOUGHT_PATIENCE_S = 60.0


class WireName(enum.Enum):
    """A wire format, by the name of its package."""

    # OpenAI chat completions, which most services speak
    COMPLETIONS = "completions"
    # OpenAI Responses
    RESPONSES = "responses"
    # Anthropic messages
    ANTHROPIC = "anthropic"
    # Gemini's generateContent
    GEMINI = "gemini"
    # Ollama's own interface
    OLLAMA = "ollama"
    # The standard input and output of a program
    PROGRAM = "program"


class Auth(enum.Enum):
    """The place of the key in a request."""

    # In the header `authorization`, after the word Bearer
    BEARER = "bearer"
    # In a header of its own, named by `auth_name`
    HEADER = "header"
    # In the address, as the parameter `auth_name`
    QUERY = "query"


class KnownService(Struct, frozen=True):
    """Known service.

    Args:
        url: what the wire format's paths are added to; empty where every account has its own.
        key_variables: variables of the environment that may hold the key.
        model: asked where none is named; empty where one has to be.
        own_url: what such an account's address looks like, for people.
        usual_path: added to an address that a person gives as a host alone.
        is_found_by_key: whether a key in the environment is reason enough to use it.
        takes_tools: whether it is worth asking; if not, models are told of tools in words.
        has_grammar: it holds an answer to a JSON Schema while it is sampled.
        least_patience_s: how long it may be silent at least, whatever is configured.
    """

    name: str
    url: str
    key_variables: tuple[str, ...] = ()
    wire: WireName = WireName.COMPLETIONS
    model: str = ""
    auth: Auth = Auth.BEARER
    auth_name: str = ""
    aliases: tuple[str, ...] = ()
    needs_key: bool = True
    own_url: str = ""
    usual_path: str = "/v1"
    headers: Mapping[str, str] = field(default_factory=dict)
    is_found_by_key: bool = False
    takes_tools: bool = True
    has_grammar: bool = False
    least_patience_s: float = 0.0


OPENAI = KnownService(
    "openai",
    "https://api.openai.com/v1",
    ("OPENAI_API_KEY",),
    # The cheapest current model that has tools in chat completions (November 2026)
    model="gpt-5.6-luna",
    is_found_by_key=True,
)
# The version of the interface that is spoken here; the service demands one
_ANTHROPIC_HEADERS = {"anthropic-version": "2023-06-01"}
_SERVICES = (
    OPENAI,
    KnownService(
        "openai-responses",
        OPENAI.url,
        OPENAI.key_variables,
        WireName.RESPONSES,
        model=OPENAI.model,
        aliases=("responses",),
    ),
    KnownService(
        "anthropic",
        "https://api.anthropic.com/v1",
        ("ANTHROPIC_API_KEY",),
        WireName.ANTHROPIC,
        auth=Auth.HEADER,
        auth_name="x-api-key",
        aliases=("claude",),
        headers=_ANTHROPIC_HEADERS,
        is_found_by_key=True,
    ),
    KnownService(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        WireName.GEMINI,
        # An alias of the service for its newest model of this size
        "gemini-flash-latest",
        Auth.HEADER,
        "x-goog-api-key",
        ("google", "google-gemini"),
        usual_path="/v1beta",
        is_found_by_key=True,
    ),
    # The same with the key in the address, for a proxy that passes on no headers; addresses end up
    # in the logs of others, so nothing chooses this by itself
    KnownService(
        "gemini-query",
        "https://generativelanguage.googleapis.com/v1beta",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        WireName.GEMINI,
        "gemini-flash-latest",
        Auth.QUERY,
        "key",
        usual_path="/v1beta",
    ),
    KnownService(
        "openrouter",
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        aliases=("open-router",),
        # It shows by these who asks; nothing depends on them
        headers={"x-title": "Barnacle"},
        is_found_by_key=True,
    ),
    KnownService(
        "azure",
        "",
        ("AZURE_OPENAI_API_KEY",),
        auth=Auth.HEADER,
        auth_name="api-key",
        aliases=("azure-openai",),
        own_url="https://RESOURCE.openai.azure.com/openai/v1",
    ),
    KnownService("venice", "https://api.venice.ai/api/v1", ("VENICE_API_KEY",)),
    KnownService(
        "cloudflare",
        "",
        ("CLOUDFLARE_API_TOKEN",),
        aliases=("workers-ai",),
        own_url="https://api.cloudflare.com/client/v4/accounts/ACCOUNT/ai/v1",
    ),
    KnownService("groq", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",), is_found_by_key=True),
    KnownService(
        "mistral", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",), is_found_by_key=True
    ),
    KnownService(
        "xai", "https://api.x.ai/v1", ("XAI_API_KEY",), aliases=("grok",), is_found_by_key=True
    ),
    KnownService(
        "deepseek", "https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",), is_found_by_key=True
    ),
    KnownService(
        "perplexity",
        "https://api.perplexity.ai",
        ("PERPLEXITY_API_KEY",),
        aliases=("pplx",),
        usual_path="",
        takes_tools=False,
    ),
    KnownService(
        "together",
        "https://api.together.xyz/v1",
        ("TOGETHER_API_KEY",),
        aliases=("together-ai", "togetherai"),
    ),
    KnownService(
        "fireworks",
        "https://api.fireworks.ai/inference/v1",
        ("FIREWORKS_API_KEY",),
        aliases=("fireworks-ai",),
    ),
    KnownService("cerebras", "https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",)),
    KnownService("sambanova", "https://api.sambanova.ai/v1", ("SAMBANOVA_API_KEY",)),
    KnownService(
        "moonshot",
        "https://api.moonshot.ai/v1",
        ("MOONSHOT_API_KEY",),
        aliases=("kimi", "moonshot-ai"),
    ),
    KnownService(
        "zai",
        "https://api.z.ai/api/paas/v4",
        ("ZAI_API_KEY",),
        aliases=("z.ai", "z-ai"),
    ),
    KnownService(
        "glm",
        "https://open.bigmodel.cn/api/paas/v4",
        ("ZHIPU_API_KEY", "GLM_API_KEY"),
        aliases=("zhipu", "bigmodel"),
    ),
    KnownService(
        "qwen",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        ("DASHSCOPE_API_KEY",),
        aliases=("dashscope", "bailian"),
    ),
    KnownService("minimax", "https://api.minimax.io/v1", ("MINIMAX_API_KEY",)),
    KnownService("nvidia", "https://integrate.api.nvidia.com/v1", ("NVIDIA_API_KEY",)),
    KnownService("huggingface", "https://router.huggingface.co/v1", ("HF_TOKEN",), aliases=("hf",)),
    KnownService(
        "github-models",
        "https://models.github.ai/inference",
        ("GITHUB_MODELS_TOKEN", "GITHUB_TOKEN"),
        aliases=("github",),
    ),
    KnownService(
        "vercel",
        "https://ai-gateway.vercel.sh/v1",
        ("AI_GATEWAY_API_KEY",),
        aliases=("vercel-ai",),
    ),
    KnownService(
        "ollama",
        "http://127.0.0.1:11434/api",
        wire=WireName.OLLAMA,
        needs_key=False,
        has_grammar=True,
        least_patience_s=OWN_MACHINE_PATIENCE_S,
        usual_path="/api",
    ),
    KnownService(
        "ollama-cloud",
        "https://ollama.com/api",
        ("OLLAMA_API_KEY",),
        WireName.OLLAMA,
        usual_path="/api",
    ),
    KnownService(
        "lmstudio",
        "http://127.0.0.1:1234/v1",
        aliases=("lm-studio",),
        needs_key=False,
        has_grammar=True,
        least_patience_s=OWN_MACHINE_PATIENCE_S,
    ),
    KnownService(
        "llamacpp",
        "http://127.0.0.1:8080/v1",
        aliases=("llama.cpp", "llama-server"),
        needs_key=False,
        has_grammar=True,
        least_patience_s=OWN_MACHINE_PATIENCE_S,
    ),
    KnownService("vllm", "http://127.0.0.1:8000/v1", needs_key=False, has_grammar=True),
    KnownService("sglang", "http://127.0.0.1:30000/v1", needs_key=False, has_grammar=True),
    KnownService("litellm", "http://127.0.0.1:4000/v1", ("LITELLM_API_KEY",), needs_key=False),
)
# What it is in particular, its declaration says
PROGRAM = KnownService(
    "program",
    "",
    wire=WireName.PROGRAM,
    needs_key=False,
    takes_tools=False,
    least_patience_s=OWN_MACHINE_PATIENCE_S,
)
_BY_NAME = {name: service for service in _SERVICES for name in (service.name, *service.aliases)}
# Names that people look for, and why there is nothing behind them
_FORBIDDEN = {
    "gemini-cli": "Google forbids other programs to use the Gemini CLI's sign-in, and closes "
    "accounts for it; use 'gemini' with a key from AI Studio"
}
_CUSTOM = {
    "custom:": KnownService("custom", "", needs_key=False),
    "anthropic-custom:": KnownService(
        "anthropic-custom",
        "",
        wire=WireName.ANTHROPIC,
        auth=Auth.HEADER,
        auth_name="x-api-key",
        needs_key=False,
        headers=_ANTHROPIC_HEADERS,
    ),
}


def find(kind: str) -> KnownService:
    """Return the service of a name, an alias, or an address after `custom:`.

    Raises:
        ValueError: nobody knows it.
    """
    for prefix, service in _CUSTOM.items():
        if kind.startswith(prefix):
            return replace(service, url=kind.removeprefix(prefix))
    if kind == PROGRAM.name:
        return PROGRAM
    found = _BY_NAME.get(kind.lower())
    if kind.lower() in _FORBIDDEN:
        raise ValueError(f"{kind!r} is not offered: {_FORBIDDEN[kind.lower()]}")
    if found is None:
        import difflib  # noqa: PLC0415 - only after a mistake

        close = difflib.get_close_matches(kind.lower(), _BY_NAME, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "`barnacle models --services` lists them"
        raise ValueError(f"{kind!r} is not a known model service: {hint}")
    return found


def every() -> Iterator[KnownService]:
    yield from _SERVICES
