import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.matrix.encryption.signatures import unpadded, unpadded_bytes, unpadded_url


@given(st.binary(max_size=80))
def test_what_is_written_is_read(content: bytes) -> None:
    for text in (unpadded(content), unpadded_url(content), unpadded(content) + "=="):
        assert unpadded_bytes(text) == content
    assert "=" not in unpadded(content)
    assert not set(unpadded_url(content)) & set("+/=")


@pytest.mark.parametrize("text", ["a", "!!!!", "é" * 4, "YQ\n", "\ud800"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"base64|ascii|ASCII|surrogates"):
        unpadded_bytes(text)
