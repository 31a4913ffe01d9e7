"""A language model of 300 KB with random weights, as a GGUF file: it writes noise.

For what surrounds a model: the wire, the template, the grammar. Its vocabulary is the bytes, so it
can write anything, and knows nothing of JSON, tools or the end of an answer.
"""

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_WIDTH, _HEADS, _INNER = 64, 4, 128
_ALIGNMENT = 32
# Types of values in the file's header
_U32, _F32, _BOOL, _STRING, _ARRAY, _I32 = 4, 6, 7, 8, 9, 5
# Kinds of tokens
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
_END = "<|im_end|>"
# The template that most small models come with, and the tools where a request has any
TEMPLATE = """\
{%- if tools %}<|im_start|>system
You may call functions. To call one, write its name and arguments as JSON between <tool_call> and
</tool_call>. <tools>{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
</tools><|im_end|>
{% endif %}{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}{% if message.tool_calls %}{% for call in message.tool_calls %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def write_tiny_model(path: Path, seed: int = 7) -> None:
    """Write the file; the same seed gives the same model."""
    chance = np.random.default_rng(seed)
    tensors = {name: _tensor(chance, shape) for name, shape in _shapes().items()}
    head = b"".join([struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(_facts())), *_facts()])
    offset = 0
    for name, values in tensors.items():
        # Dimensions are told the other way round
        sizes = values.shape[::-1]
        head += _text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, 0, offset)
        offset += _padded(values.nbytes)
    with path.open("wb") as file:
        file.write(head.ljust(_padded(len(head)), b"\0"))
        for values in tensors.values():
            file.write(values.tobytes().ljust(_padded(values.nbytes), b"\0"))


def _tensor(chance: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float32]:
    if len(shape) == 1:
        return np.ones(shape, np.float32)
    return chance.normal(0, 0.1, shape).astype(np.float32)


def _shapes() -> dict[str, tuple[int, ...]]:
    words = len(_tokens())
    square = (_WIDTH, _WIDTH)
    return {
        "token_embd.weight": (words, _WIDTH),
        "output_norm.weight": (_WIDTH,),
        "output.weight": (words, _WIDTH),
        "blk.0.attn_norm.weight": (_WIDTH,),
        "blk.0.attn_q.weight": square,
        "blk.0.attn_k.weight": square,
        "blk.0.attn_v.weight": square,
        "blk.0.attn_output.weight": square,
        "blk.0.ffn_norm.weight": (_WIDTH,),
        "blk.0.ffn_gate.weight": (_INNER, _WIDTH),
        "blk.0.ffn_up.weight": (_INNER, _WIDTH),
        "blk.0.ffn_down.weight": (_WIDTH, _INNER),
    }


def _tokens() -> list[tuple[str, int]]:
    special = [("<unk>", _UNKNOWN), ("<s>", _CONTROL), (_END, _CONTROL), ("<|im_start|>", _CONTROL)]
    letters = [(chr(code), _NORMAL) for code in range(0x21, 0x7F)]
    # A space, as this tokenizer writes it
    return [*special, *((f"<0x{n:02X}>", _BYTE) for n in range(256)), *letters, ("\u2581", _NORMAL)]


def _facts() -> list[bytes]:
    names = [name for name, _ in _tokens()]
    return [
        _fact("general.architecture", _STRING, _text("llama")),
        _fact("general.name", _STRING, _text("tiny noise")),
        _fact("llama.context_length", _U32, struct.pack("<I", 8192)),
        _fact("llama.embedding_length", _U32, struct.pack("<I", _WIDTH)),
        _fact("llama.block_count", _U32, struct.pack("<I", 1)),
        _fact("llama.feed_forward_length", _U32, struct.pack("<I", _INNER)),
        _fact("llama.attention.head_count", _U32, struct.pack("<I", _HEADS)),
        _fact("llama.attention.layer_norm_rms_epsilon", _F32, struct.pack("<f", 1e-5)),
        _fact("tokenizer.ggml.model", _STRING, _text("llama")),
        _fact("tokenizer.ggml.tokens", _ARRAY, _list(_STRING, [_text(name) for name in names])),
        _fact("tokenizer.ggml.scores", _ARRAY, _list(_F32, [struct.pack("<f", 0.0)] * len(names))),
        _fact(
            "tokenizer.ggml.token_type",
            _ARRAY,
            _list(_I32, [struct.pack("<i", kind) for _, kind in _tokens()]),
        ),
        _fact("tokenizer.ggml.bos_token_id", _U32, struct.pack("<I", 1)),
        _fact("tokenizer.ggml.eos_token_id", _U32, struct.pack("<I", 2)),
        # A space before each text would not be what the grammar of a template expects
        _fact("tokenizer.ggml.add_space_prefix", _BOOL, b"\0"),
        _fact("tokenizer.chat_template", _STRING, _text(TEMPLATE)),
    ]


def _fact(key: str, kind: int, value: bytes) -> bytes:
    return _text(key) + struct.pack("<I", kind) + value


def _list(kind: int, values: list[bytes]) -> bytes:
    return struct.pack("<IQ", kind, len(values)) + b"".join(values)


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
