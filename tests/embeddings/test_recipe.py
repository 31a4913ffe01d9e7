import json
from pathlib import Path

import pytest

from agent.embeddings.recipe import Pooling, Recipe, read_recipe
from agent.errors import EmbedderUnavailable


def write(folder: Path, name: str, content: object) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))


def test_a_bare_folder_says_nothing(tmp_path: Path) -> None:
    assert read_recipe(tmp_path) == Recipe(None, "", "", 256)


def test_all_files_of_a_multilingual_model_are_read(tmp_path: Path) -> None:
    write(
        tmp_path,
        "modules.json",
        [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
        ],
    )
    write(tmp_path, "1_Pooling/config.json", {"pooling_mode_cls_token": True})
    write(
        tmp_path,
        "config_sentence_transformers.json",
        {"prompts": {"query": "query: ", "passage": "passage: "}, "similarity_fn_name": "cosine"},
    )
    write(tmp_path, "sentence_bert_config.json", {"max_seq_length": 128, "do_lower_case": False})
    assert read_recipe(tmp_path) == Recipe(Pooling.CLS, "query: ", "passage: ", 128)


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, Pooling.MEAN),
        ({"pooling_mode": "mean"}, Pooling.MEAN),
        ({"pooling_mode": "cls", "embedding_dimension": 384}, Pooling.CLS),
        ({"pooling_mode_max_tokens": True}, Pooling.MAX),
        ({"pooling_mode_lasttoken": True}, Pooling.LAST),
    ],
    ids=str,
)
def test_both_ways_to_write_the_pooling_are_read(
    tmp_path: Path, config: dict[str, object], pooling: Pooling
) -> None:
    write(tmp_path, "1_Pooling/config.json", config)
    assert read_recipe(tmp_path).pooling is pooling


@pytest.mark.parametrize(
    ("prompts", "query", "passage"),
    [
        ({"document": "title: none | text: ", "query": "q: "}, "q: ", "title: none | text: "),
        ({"query": "find: ", "document": None}, "find: ", ""),
        ({"search_query": "a: ", "search_document": "b: "}, "a: ", "b: "),
        ({"classification": "c: "}, "", ""),
    ],
    ids=str,
)
def test_prompts_are_found_under_the_names_in_use(
    tmp_path: Path, prompts: object, query: str, passage: str
) -> None:
    write(tmp_path, "config_sentence_transformers.json", {"prompts": prompts})
    recipe = read_recipe(tmp_path)
    assert (recipe.query_prefix, recipe.passage_prefix) == (query, passage)


def test_a_default_prompt_stands_before_both(tmp_path: Path) -> None:
    config = {"prompts": {"any": "text: "}, "default_prompt_name": "any"}
    write(tmp_path, "config_sentence_transformers.json", config)
    assert read_recipe(tmp_path) == Recipe(None, "text: ", "text: ")


def test_a_model_of_very_long_texts_is_used_up_to_our_limit(tmp_path: Path) -> None:
    write(tmp_path, "sentence_bert_config.json", {"max_seq_length": 8192})
    assert read_recipe(tmp_path).max_tokens == 512
    write(tmp_path, "sentence_bert_config.json", {"max_seq_length": None})
    assert read_recipe(tmp_path).max_tokens == 256


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("modules.json", "{"),
        ("modules.json", [{"type": "sentence_transformers.models.Dense"}]),
        ("modules.json", [1]),
        ("1_Pooling/config.json", {}),
        ("1_Pooling/config.json", {"pooling_mode": "weightedmean"}),
        (
            "1_Pooling/config.json",
            {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True},
        ),
        ("config_sentence_transformers.json", {"prompts": {"query": 1}}),
        ("config_sentence_transformers.json", {"prompts": {"query": "x" * 2000}}),
        ("config_sentence_transformers.json", "[" * 100_000),
        ("sentence_bert_config.json", {"max_seq_length": 0}),
        ("sentence_bert_config.json", '{"max_seq_length": 5}' + " " * 300_000),
        ("sentence_bert_config.json", "\x00"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, name: str, content: object) -> None:
    write(tmp_path, name, content)
    with pytest.raises(EmbedderUnavailable, match=name.replace(".", r"\.")):
        read_recipe(tmp_path)
