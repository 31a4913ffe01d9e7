import msgspec
import pytest

from agent.embeddings.settings import EmbeddingsSettings


def test_the_model_of_this_machine_is_the_default() -> None:
    assert EmbeddingsSettings() == EmbeddingsSettings(provider="onnx", model_dir="")


def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="provider"):
        msgspec.convert({"provider": "cloud"}, EmbeddingsSettings)
