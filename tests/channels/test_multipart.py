import email.parser
import email.policy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.multipart import PIECE_BYTES, MultipartForm
from agent.messages import Attachment


async def body_of(form: MultipartForm) -> bytes:
    return b"".join([piece async for piece in form.pieces()])


def parts(form: MultipartForm, body: bytes) -> dict[str, tuple[str | None, bytes]]:
    head = f"content-type: {form.headers['content-type']}\r\n\r\n".encode()
    read = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    found = {}
    for part in read.iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        found[name] = (part.get_filename(), bytes(part.get_payload(decode=True)))
    return found


async def test_fields_and_the_file_arrive_and_the_length_is_right(tmp_path: Path) -> None:
    content = bytes(range(256)) * (PIECE_BYTES // 100)
    (tmp_path / "x").write_bytes(content)
    form = MultipartForm(
        {"chat_id": 5, "caption": "größer 👋"}, "photo", _file(tmp_path / "x", "a b.png")
    )
    body = await body_of(form)
    assert len(body) == int(form.headers["content-length"])
    found = parts(form, body)
    assert found["chat_id"] == (None, b"5")
    assert found["caption"] == (None, "größer 👋".encode())
    assert found["photo"] == ("a b.png", content)


@given(st.text(max_size=200), st.text(max_size=60))
def test_no_name_or_kind_breaks_out_of_its_line(name: str, kind: str) -> None:
    form = MultipartForm({}, "file", Attachment(__file__, kind, name))
    head, _, _ = form._head.partition(b"\r\n\r\n")
    assert head.count(b"\r\n") == 2
    assert head.count(b"\n") == 2


async def test_a_file_that_became_shorter_ends_the_request(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    form = MultipartForm({}, "file", _file(tmp_path / "x", "x"))
    (tmp_path / "x").write_bytes(b"a")
    with pytest.raises(OSError, match="became shorter"):
        await body_of(form)


def _file(path: Path, name: str) -> Attachment:
    return Attachment(str(path), "image/png", name)
