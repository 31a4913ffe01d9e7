"""Recipe of a model, from the files that sentence-transformers puts beside it.

Every file is optional; one that is there and cannot be understood is refused by its name. What
they say about normalisation changes nothing: vectors are always made to have length 1.
"""

import enum
from pathlib import Path
from typing import TypeVar

import msgspec

from agent.errors import EmbedderUnavailable

MODULES_FILE = "modules.json"
POOLING_FILE = "1_Pooling/config.json"
PROMPTS_FILE = "config_sentence_transformers.json"
LENGTH_FILE = "sentence_bert_config.json"
FILES = (MODULES_FILE, POOLING_FILE, PROMPTS_FILE, LENGTH_FILE)
# What the model that comes with us was made for
DEFAULT_MAX_TOKENS = 256
# Attention takes memory by the square of this: 512 is what most models were trained on
MOST_TOKENS = 512
# A file of settings is a few lines
_MAX_FILE_BYTES = 256 * 1024
# "Represent this sentence ..." is the longest there is
_MAX_PREFIX_CHARS = 1000
# A module that only scales its result to length 1, which is done here for every model
_HARMLESS = frozenset({"Transformer", "Pooling", "Normalize", "BertModel"})
_QUERY_PROMPTS = ("query", "question", "search_query")
_PASSAGE_PROMPTS = ("passage", "document", "corpus", "search_document")

T = TypeVar("T")


class Pooling(enum.Enum):
    """Pooling of token vectors into one."""

    # Their mean
    MEAN = "mean"
    # The first one, which models of this kind are trained to sum up in
    CLS = "cls"
    # The largest of each dimension
    MAX = "max"
    # The last one
    LAST = "lasttoken"


class Recipe(msgspec.Struct, frozen=True):
    """Recipe of a model; `pooling` is None if no file names it."""

    pooling: Pooling | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: int = DEFAULT_MAX_TOKENS


class _Module(msgspec.Struct, frozen=True):
    type: str


class _PoolingConfig(msgspec.Struct, frozen=True):
    pooling_mode: str = ""
    pooling_mode_cls_token: bool = False
    pooling_mode_mean_tokens: bool = False
    pooling_mode_max_tokens: bool = False
    pooling_mode_lasttoken: bool = False


class _PromptsConfig(msgspec.Struct, frozen=True):
    prompts: dict[str, str | None] = msgspec.field(default_factory=dict)
    default_prompt_name: str | None = None


class _LengthConfig(msgspec.Struct, frozen=True):
    max_seq_length: int | None = None


def read_recipe(folder: Path) -> Recipe:
    """Read the recipe from the folder's files.

    Raises:
        EmbedderUnavailable: one of them cannot be understood, or wants what is not done here.
    """
    _check_modules(folder)
    query, passage = _prefixes(folder)
    return Recipe(_pooling(folder), query, passage, _max_tokens(folder))


def _check_modules(folder: Path) -> None:
    for module in _read(folder, MODULES_FILE, list[_Module]) or []:
        kind = module.type.rpartition(".")[2]
        if kind not in _HARMLESS:
            raise _refused(
                folder, MODULES_FILE, f"the model ends in a module {kind!r}, which is not run here"
            )


def _pooling(folder: Path) -> Pooling | None:
    config = _read(folder, POOLING_FILE, _PoolingConfig)
    if config is None:
        return None
    modes = {
        Pooling.CLS: config.pooling_mode_cls_token,
        Pooling.MEAN: config.pooling_mode_mean_tokens,
        Pooling.MAX: config.pooling_mode_max_tokens,
        Pooling.LAST: config.pooling_mode_lasttoken,
    }
    chosen = [mode for mode, is_on in modes.items() if is_on or config.pooling_mode == mode.value]
    if len(chosen) != 1:
        known = ", ".join(mode.value for mode in Pooling)
        raise _refused(folder, POOLING_FILE, f"it must name exactly one of {known}")
    return chosen[0]


def _prefixes(folder: Path) -> tuple[str, str]:
    config = _read(folder, PROMPTS_FILE, _PromptsConfig)
    if config is None:
        return "", ""
    usual = config.prompts.get(config.default_prompt_name or "") or ""
    query = _first(config.prompts, _QUERY_PROMPTS, usual)
    passage = _first(config.prompts, _PASSAGE_PROMPTS, usual)
    if max(len(query), len(passage)) > _MAX_PREFIX_CHARS:
        raise _refused(folder, PROMPTS_FILE, f"a prompt is longer than {_MAX_PREFIX_CHARS}")
    return query, passage


def _first(prompts: dict[str, str | None], names: tuple[str, ...], otherwise: str) -> str:
    return next((prompts[name] or "" for name in names if name in prompts), otherwise)


def _max_tokens(folder: Path) -> int:
    config = _read(folder, LENGTH_FILE, _LengthConfig)
    if config is None or config.max_seq_length is None:
        return DEFAULT_MAX_TOKENS
    if config.max_seq_length < 1:
        raise _refused(folder, LENGTH_FILE, "max_seq_length must be 1 or more")
    return min(config.max_seq_length, MOST_TOKENS)


def _read(folder: Path, name: str, kind: type[T]) -> T | None:
    try:
        with (folder / name).open("rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)
        if len(content) > _MAX_FILE_BYTES:
            raise _refused(folder, name, f"it is longer than {_MAX_FILE_BYTES} bytes")
        return msgspec.json.decode(content, type=kind)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.DecodeError, UnicodeError, RecursionError) as err:
        raise _refused(folder, name, str(err)) from err


def _refused(folder: Path, name: str, reason: str) -> EmbedderUnavailable:
    return EmbedderUnavailable(f"{folder / name} cannot be used: {reason}")
