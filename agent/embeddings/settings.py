"""The `[embeddings]` section: the model that turns text into vectors."""

from typing import Literal

from agent.config import Section


class EmbeddingsSettings(Section, frozen=True, kw_only=True):
    """Where the embedding model is."""

    # "onnx" runs the model on this machine; "none" leaves recall to words alone
    provider: Literal["onnx", "none"] = "onnx"
    # Empty: BARNACLE_MODEL_DIR, else the one that was built
    model_dir: str = ""
