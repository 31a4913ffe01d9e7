"""Our own WordPiece against the library that the model was made with."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from agent.embeddings import wordpiece
from agent.embeddings.wordpiece import WordPiece

MOST = 64
# Of all of Unicode, those whose kind has changed since the library's tables were made
MOST_SPLIT_OTHERWISE = 700
# What is written in a household, and what makes a difference
_SIGNS = (
    "abcxyz ABC,.-'[]()\t\n#1234\u00e9\u00fc\u00df\u00f1\u00c5\u4e2d\u6587\u6771\u30cf\ub0b4"
    "\uc5ec\u0939\u093f\u092e\u0e41\u0e21\U0001f642\u0301\u0308\u200b\u00a0\u0130\u03a3\u00bd\ufb01\x01\x1c\ufffd"
)

Told = tuple[list[int], list[tuple[int, int]], list[int]]


@pytest.fixture(scope="module")
def library(model_dir: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(model_dir / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MOST)
    return tokenizer


@pytest.fixture(scope="module")
def own(model_dir: Path) -> WordPiece:
    found = wordpiece.read(model_dir / "tokenizer.json", MOST)
    assert found is not None
    return found


def told(encoded: Any) -> Told:
    return encoded.ids, [*map(tuple, encoded.offsets)], encoded.special_tokens_mask


@given(text=st.one_of(st.text(_SIGNS, max_size=60), st.text(st.characters(max_codepoint=0x2FF))))
def test_a_text_is_split_as_by_the_library(own: WordPiece, library: Tokenizer, text: str) -> None:
    assert told(own.encode(text)) == told(library.encode(text))
    bare = library.encode(text, add_special_tokens=False)
    assert told(own.encode(text, add_special_tokens=False)) == told(bare)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "[CLS] a [SEP]",
        "a[MASK]b [mask] [UNK]",
        "\u0130stanbul",
        "e\u0301cole",
        "a\x01b",
        "x" * 100,
        "x" * 101,
        "\u0391\u03a3 \u039f\u0394\u039f\u03a3",
        "word " * 200,
        "unaffable antidisestablishmentarianism",
    ],
)
def test_what_is_seldom_written_is_split_as_by_the_library(
    own: WordPiece, library: Tokenizer, text: str
) -> None:
    assert told(own.encode(text)) == told(library.encode(text))


def test_nearly_every_character_is_read_as_by_the_library(library: Tokenizer) -> None:
    otherwise = [
        one
        for number in range(sys.maxunicode + 1)
        if not 0xD800 <= number <= 0xDFFF
        and library.normalizer.normalize_str(one := chr(number))
        != wordpiece._read_as.__wrapped__(one)
    ]
    assert len(otherwise) < MOST_SPLIT_OTHERWISE
    # From the marks of N'Ko on; none of what most people write
    assert min(otherwise) == "\u07fd"


def _changed(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    told = json.loads(path.read_text())
    change(told)
    path.write_text(json.dumps(told))
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda told: told["normalizer"].update(lowercase=False),
        lambda told: told.update(pre_tokenizer={"type": "Whitespace"}),
        lambda told: told.update(post_processor=None),
        lambda told: told["model"].update(type="BPE"),
        lambda told: told["model"].update(unk_token="[none]"),
        lambda told: told["added_tokens"][0].update(lstrip=True),
        lambda told: told.clear(),
    ],
)
def test_another_kind_of_description_is_left_to_the_library(
    model_dir: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    copy = tmp_path / "tokenizer.json"
    copy.write_bytes((model_dir / "tokenizer.json").read_bytes())
    assert wordpiece.read(_changed(copy, change), MOST) is None
