import encodings
import pkgutil
import time

import pytest

from agent.text.charsets import decoded, is_charset

CODECS = sorted(one.name for one in pkgutil.iter_modules(encodings.__path__))


@pytest.mark.parametrize("name", CODECS)
def test_no_codec_of_python_breaks_or_takes_long(name: str) -> None:
    begun_s = time.process_time()
    assert decoded(b"a\xff-" * 50_000, name)
    assert time.process_time() - begun_s < 2


@pytest.mark.parametrize("name", ["utf-8", "UTF8", "latin1", "windows-1252", "gb18030", "koi8-r"])
def test_what_texts_are_sent_in_is_a_character_set(name: str) -> None:
    assert is_charset(name)


@pytest.mark.parametrize("name", ["", "x-lies", "a\0b", "idna", "Punycode", "unicode_escape"])
def test_what_none_is_sent_in_is_none(name: str) -> None:
    assert not is_charset(name)
    assert decoded("grün".encode(), name) == "grün"


@pytest.mark.parametrize(
    ("charset", "sent", "words"),
    [
        ("us-ascii", "Küche".encode(), "Küche"),
        ("us-ascii", "Küche".encode()[:2], "K"),
        ("us-ascii", "Küche".encode("latin-1"), "Küche"),
        ("iso-8859-1", "5 €".encode("cp1252"), "5 €"),
        ("gb2312", "陶喆".encode("gb18030"), "陶喆"),
        ("ks_c_5601-1987", "햏".encode("cp949"), "햏"),
        ("shift_jis", "①".encode("cp932"), "①"),
        ("iso-8859-8-i", "אור".encode("iso-8859-8"), "אור"),
    ],
)
def test_programs_name_a_smaller_set_than_they_write(charset: str, sent: bytes, words: str) -> None:
    assert decoded(sent, charset) == words
