"""The embedder that the settings ask for."""

from agent.embeddings.base import Embedder
from agent.embeddings.none import NoEmbedder
from agent.embeddings.onnx import OnnxEmbedder
from agent.settings import Paths, Settings


def embedder_of(settings: Settings, paths: Paths) -> Embedder:
    """A missing model is the embedder's own to tell, at its first use."""
    if settings.embeddings.provider == "none":
        return NoEmbedder()
    return OnnxEmbedder(paths.model_dir)
