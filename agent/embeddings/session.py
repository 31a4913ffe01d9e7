"""A loaded embedding model: texts to unit vectors, in the thread that calls.

Importing this module loads numpy, onnxruntime and tokenizers; `onnx.py` does so on first use.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from agent.embeddings.folder import ModelFolder
from agent.errors import EmbedderUnavailable

# What the model was made for; longer texts are cut
MAX_TOKENS = 256
# More characters than 256 tokens of any prose; the rest would only be tokenised and cut
MAX_CHARS = 8192
# Bounds the memory of one run: some 10 MB of activations
_MAX_BATCH_TOKENS = 1024
# The runtime's log level for errors: what it warns of is nothing a person can act on
_LOG_ERRORS = 3

Vectors = NDArray[np.float32]
_Ids = Sequence[int]


class ModelSession:
    """The runtime and the tokenizer of one model.

    Raises:
        EmbedderUnavailable: the folder holds no model that can be run.
    """

    def __init__(self, folder: ModelFolder) -> None:
        self._folder = folder
        self.model_id = folder.verified_id()
        try:
            self._runtime = _runtime(folder)
            self._tokenizer = _tokenizer(folder)
        except Exception as err:
            # Both libraries raise bare Exceptions of their own
            raise folder.damaged(str(err)) from err
        self._inputs = {value.name for value in self._runtime.get_inputs()}
        self._output, self.dimensions = self._sentence_output()

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of shape (len(texts), dimensions), whatever the order of lengths."""
        token_ids = [self._tokenizer.encode(_clean(text)).ids for text in texts]
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for batch in batches([len(ids) for ids in token_ids]):
            vectors[batch] = self._run([token_ids[place] for place in batch])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        # Also false for what is not a number
        if not bool(((lengths > 0) & np.isfinite(lengths)).all()):
            raise self._folder.damaged("it gives vectors without a direction")
        unit: Vectors = vectors / lengths
        return unit

    def _run(self, token_ids: Sequence[_Ids]) -> Vectors:
        longest = max(map(len, token_ids))
        ids = np.zeros((len(token_ids), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, own in enumerate(token_ids):
            ids[row, : len(own)] = own
            mask[row, : len(own)] = 1
        fed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            [vectors] = self._runtime.run(
                [self._output], {name: fed[name] for name in self._inputs}
            )
        except Exception as err:
            # The runtime raises bare Exceptions of its own
            raise self._folder.damaged(str(err)) from err
        return np.asarray(vectors, np.float32)

    def _sentence_output(self) -> tuple[str, int]:
        """The output that holds one vector for each text."""
        for output in self._runtime.get_outputs():
            if len(output.shape) == 2 and isinstance(output.shape[1], int):  # noqa: PLR2004 - texts, numbers
                return output.name, output.shape[1]
        raise EmbedderUnavailable(
            f"the model in {self._folder.path} gives no single vector for a text: "
            "its graph must end with the pooling"
        )


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of texts to run together: alike in length, so that little is computed for padding."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[place] > _MAX_BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _clean(text: str) -> str:
    """What a tokenizer takes: not too long, and lone surrogates become question marks."""
    return text[:MAX_CHARS].encode(errors="replace").decode()


def _runtime(folder: ModelFolder) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    # One thread is enough for short text, and a waiting one must not burn a shared core
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Further rewriting costs memory while loading and gains nothing on a fused graph
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = _LOG_ERRORS
    return onnxruntime.InferenceSession(
        str(folder.model), options, providers=["CPUExecutionProvider"]
    )


def _tokenizer(folder: ModelFolder) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(folder.tokenizer))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer
