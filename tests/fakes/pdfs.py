"""Small PDF files, written by hand so that a test knows every byte."""

import zlib
from collections.abc import Sequence


def pdf(pages: Sequence[str]) -> bytes:
    """A document with one line of plain letters on each page."""
    streams = [f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode() for text in pages]
    return _assembled(streams)


def bomb(size_bytes: int) -> bytes:
    """A page of a few kilobytes that unfolds to that size."""
    return _assembled([zlib.compress(b"q Q " * (size_bytes // 4), 9)], filtered=True)


def _assembled(streams: Sequence[bytes], *, filtered: bool = False) -> bytes:
    count = len(streams)
    kids = " ".join(f"{4 + 2 * place} 0 R" for place in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {count} /Kids [{kids}] >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    how = b" /Filter /FlateDecode" if filtered else b""
    for place, stream in enumerate(streams):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * place} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        head = f"<< /Length {len(stream)}".encode() + how
        objects.append(head + b" >>\nstream\n" + stream + b"\nendstream")
    body, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    trailer = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF"
    head = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"
    return body + (head + table + trailer).encode()
