"""A loaded embedding model: texts to unit vectors, in the thread that calls.

Importing this module loads numpy and onnxruntime; `onnx.py` does so on first use.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from agent.embeddings import wordpiece
from agent.embeddings.base import PassageReading, TextPassage
from agent.embeddings.folder import ModelFolder
from agent.embeddings.pooling import PoolingHead, SentenceHead, Vectors, head_of, token_output
from agent.errors import EmbedderUnavailable
from agent.system import pages

# More characters than 512 tokens of any prose; the rest would only be tokenised and cut
MAX_CHARS = 8192
# Bounds the memory of one run: some 10 MB of activations
_MAX_BATCH_TOKENS = 1024
# The runtime's log level for errors: what it warns of is nothing a person can act on
_LOG_ERRORS = 3
# The weights stay in the file, which the kernel maps and may drop: a copy takes 23 MB. Half of them
# are laid out for the processor, once: without that, each run does so again, 0.9 ms of its 2.8
_MAPPED = (
    "session.use_memory_mapped_ort_model",
    "session.use_ort_model_bytes_for_initializers",
)
# Any text will do to see how long the vectors are
_PROBE = "a"
# Of what came before a text: two turns of a conversation; each token costs 0.1 ms
_MAX_TOKENS_BEFORE = 128
_MAX_CHARS_BEFORE = 1024
# What a text without a single token is given: models take no empty row
_NO_TOKENS = (0,)

_Ids = Sequence[int]


class ModelSession:
    """Runtime and tokenizer of one model.

    Raises:
        EmbedderUnavailable: the folder holds no model that can be run.
    """

    def __init__(self, folder: ModelFolder) -> None:
        self._folder = folder
        self._recipe = folder.recipe()
        self.model_id = folder.verified_id()
        try:
            self._runtime = _runtime(folder)
            self._splitter = _splitter(folder, self._recipe.max_tokens)
        except Exception as err:
            # Both libraries raise bare Exceptions of their own
            raise folder.damaged(str(err)) from err
        self._inputs = _inputs(self._runtime, folder)
        self._head: SentenceHead | PoolingHead = head_of(
            self._runtime.get_outputs(), self._recipe.pooling, folder.path
        )
        self._token_output = token_output(
            self._runtime.get_outputs(), self._head, self._recipe.pooling
        )
        self.dimensions = self._head.dimensions or self._probed_dimensions()
        self._mapped = pages.unwritten(folder.model) if folder.is_mapped else ()
        # Most of what was read was needed for the load, and never again
        self.give_back()
        pages.give_back()

    def vectors(self, texts: Sequence[str], *, asked: bool = False) -> Vectors:
        """Return unit vectors of shape (len(texts), dimensions), in the order of the texts."""
        prefix = self._recipe.query_prefix if asked else self._recipe.passage_prefix
        token_ids = [self._splitter.encode(_clean(prefix + text)).ids for text in texts]
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for batch in batches([len(ids) for ids in token_ids]):
            vectors[batch] = self._run([token_ids[place] for place in batch])
        return self._unit(vectors)

    def readings(
        self, passages: Sequence[TextPassage], *, asked: bool = False
    ) -> list[PassageReading]:
        """Return readings with tokens, for models whose sentence is the mean of its tokens."""
        if self._token_output is None:
            vectors = self.vectors([passage.text for passage in passages], asked=asked)
            return [PassageReading(vector, vectors[:0]) for vector in vectors]
        return [self._reading(passage, self._token_output, asked=asked) for passage in passages]

    def give_back(self) -> None:
        """Give back the rows of words that were read: the kernel brings sixteen pages for each."""
        for mapping in self._mapped:
            mapping.give_back()

    def _reading(self, passage: TextPassage, output: str, *, asked: bool) -> PassageReading:
        prefix = self._recipe.query_prefix if asked else self._recipe.passage_prefix
        own = self._splitter.encode(_clean(prefix + passage.text))
        room = min(_MAX_TOKENS_BEFORE, self._recipe.max_tokens - len(own.ids))
        before = _last(self._splitter, passage.before, room)
        lead = own.special_tokens_mask.index(0) if 0 in own.special_tokens_mask else 0
        ids = [*own.ids[:lead], *before, *own.ids[lead:]] or list(_NO_TOKENS)
        [states] = self._states(output, [ids])
        kept = [place for place, (start, end) in enumerate(own.offsets) if end > start]
        # A sign for "some word that the model does not know" is close to every other such sign
        kept = [
            place
            for place in kept
            if own.offsets[place][0] >= len(prefix) and own.ids[place] != self._splitter.unknown
        ]
        tokens = states[[place + len(before) for place in kept]]
        # Without anything before it, as every other sentence: the signs of start and end count
        mean = (tokens if before and kept else states).mean(axis=0)
        spans = [own.offsets[place] for place in kept]
        moved = [(start - len(prefix), end - len(prefix)) for start, end in spans]
        return PassageReading(self._unit(mean[None])[0], tokens, moved, self._splitter.drops_marks)

    def _states(self, output: str, token_ids: Sequence[_Ids]) -> Vectors:
        ids = np.array(token_ids, np.int64)
        try:
            [values] = self._runtime.run([output], self._fed(ids, np.ones_like(ids)))
        except Exception as err:
            # The runtime raises bare Exceptions of its own
            raise self._folder.damaged(str(err)) from err
        return np.asarray(values, np.float32)

    def _run(self, token_ids: Sequence[_Ids]) -> Vectors:
        longest = max(1, *map(len, token_ids))
        ids = np.zeros((len(token_ids), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, own in enumerate(token_ids):
            there = own or _NO_TOKENS
            ids[row, : len(there)] = there
            mask[row, : len(there)] = 1
        try:
            [values] = self._runtime.run([self._head.output], self._fed(ids, mask))
        except Exception as err:
            # The runtime raises bare Exceptions of its own
            raise self._folder.damaged(str(err)) from err
        return self._head.vectors(np.asarray(values, np.float32), mask)

    def _unit(self, vectors: Vectors) -> Vectors:
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        # Also false for what is not a number
        if not bool(((lengths > 0) & np.isfinite(lengths)).all()):
            raise self._folder.damaged("it gives vectors without a direction")
        unit: Vectors = vectors / lengths
        return unit

    def _fed(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> dict[str, object]:
        places = np.broadcast_to(np.arange(ids.shape[1], dtype=np.int64), ids.shape)
        known = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.ascontiguousarray(places),
        }
        return {name: known[name].astype(kind) for name, kind in self._inputs.items()}

    def _probed_dimensions(self) -> int:
        ids = self._splitter.encode(_PROBE).ids
        return int(self._run([ids]).shape[1])


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield indexes of texts with similar lengths, so that little padding is computed."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[place] > _MAX_BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _clean(text: str) -> str:
    """Return text that a tokenizer takes: bounded, with lone surrogates as question marks."""
    return text[:MAX_CHARS].encode(errors="replace").decode()


def _last(splitter: "TextSplitter", text: str, room: int) -> list[int]:
    """Return the ids of the last tokens of a text."""
    if not text or room <= 0:
        return []
    last = _clean(text[-_MAX_CHARS_BEFORE:])
    return splitter.encode(last, add_special_tokens=False).ids[-room:]


def _inputs(runtime: onnxruntime.InferenceSession, folder: ModelFolder) -> dict[str, str]:
    """Return the type of each input that the graph needs."""
    types = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
    known = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}
    wanted = {value.name: value.type for value in runtime.get_inputs()}
    for name, kind in wanted.items():
        if name not in known or kind not in types:
            raise EmbedderUnavailable(
                f"{folder.model} wants an input {name} of {kind}: it is not a text encoder"
            )
    return {name: types[kind] for name, kind in wanted.items()}


def _runtime(folder: ModelFolder) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    # One thread is enough for short text, and a waiting one must not burn a shared core
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Further rewriting costs memory while loading and gains nothing on a fused graph
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = _LOG_ERRORS
    # What a run takes it gives back: short texts are not slower for it
    options.enable_cpu_mem_arena = False
    if folder.is_mapped:
        for name in _MAPPED:
            options.add_session_config_entry(name, "1")
    return onnxruntime.InferenceSession(
        str(folder.model), options, providers=["CPUExecutionProvider"]
    )


class TextSplitter(Protocol):
    """Splits texts into pieces.

    `unknown` is the id of what the model does not know; `drops_marks` says that it reads letters
    without their accents and tones.
    """

    @property
    def unknown(self) -> int | None: ...

    @property
    def drops_marks(self) -> bool: ...

    def encode(self, text: str, *, add_special_tokens: bool = True) -> "wordpiece.Pieces": ...


class LibrarySplitter:
    """Splits as any description wants it, by the library `tokenizers`."""

    def __init__(self, path: Path, max_tokens: int) -> None:
        from tokenizers import Tokenizer  # noqa: PLC0415 - 14 MB, which our own model does not need

        self._tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)
        unknown = getattr(self._tokenizer.model, "unk_token", None)
        self.unknown = None if not unknown else self._tokenizer.token_to_id(unknown)
        normalizer = self._tokenizer.normalizer
        self.drops_marks = normalizer is not None and normalizer.normalize_str("\u00e9") == "e"

    def encode(self, text: str, *, add_special_tokens: bool = True) -> wordpiece.Pieces:
        found = self._tokenizer.encode(text, add_special_tokens=add_special_tokens)
        return wordpiece.Pieces(found.ids, found.offsets, found.special_tokens_mask)


def _splitter(folder: ModelFolder, max_tokens: int) -> TextSplitter:
    known = wordpiece.read(folder.tokenizer, max_tokens)
    return LibrarySplitter(folder.tokenizer, max_tokens) if known is None else known
