"""The embedder that the settings ask for."""

from agent.embeddings.base import Embedder
from agent.embeddings.none import NoEmbedder
from agent.embeddings.onnx import OnnxEmbedder
from agent.settings import Paths, Settings


def embedder_of(settings: Settings, paths: Paths) -> Embedder:
    if settings.embeddings.provider == "none" or not paths.model_dir.is_dir():
        return NoEmbedder()
    return OnnxEmbedder(paths.model_dir)
