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
