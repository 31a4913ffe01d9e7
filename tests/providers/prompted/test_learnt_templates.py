"""Templates of models are learnt, kept over a start, and forgotten when they do not fit."""

from pathlib import Path

import pytest

from agent.providers import template_names
from agent.providers.prompted.learnt_templates import LEARNT_AFTER, MAX_MODELS, LearntTemplates
from agent.providers.prompted.templates.every import TEMPLATES
from agent.providers.template_names import TEMPLATE_NAMES

WRITER = ("ollama", "qwen3-4b", "native")
HERMES = frozenset({"hermes"})
NONE: frozenset[str] = frozenset()


def learnt(path: Path | None = None) -> LearntTemplates:
    templates = LearntTemplates(path)
    for _ in range(LEARNT_AFTER):
        templates.wrote(WRITER, HERMES)
    return templates


def test_a_template_is_learnt_after_some_answers() -> None:
    templates = LearntTemplates()
    for _ in range(LEARNT_AFTER - 1):
        templates.wrote(WRITER, HERMES)
        assert templates.of(WRITER) == NONE
    templates.wrote(WRITER, HERMES)
    assert templates.of(WRITER) == HERMES
    assert templates.of(("ollama", "qwen3-4b", "words")) == NONE


def test_a_model_with_two_templates_is_learnt_with_both() -> None:
    templates = LearntTemplates()
    for name in ["llama", "json"] * LEARNT_AFTER:
        templates.wrote(WRITER, frozenset({name}))
    assert templates.of(WRITER) == {"llama", "json"}


def test_it_is_kept_over_a_start(tmp_path: Path) -> None:
    path = tmp_path / "model-templates.json"
    learnt(path)
    assert LearntTemplates(path).of(WRITER) == HERMES


def test_what_is_forgotten_is_forgotten_in_the_file_too(tmp_path: Path) -> None:
    path = tmp_path / "model-templates.json"
    learnt(path).forget(WRITER)
    assert LearntTemplates(path).of(WRITER) == NONE


@pytest.mark.parametrize("content", [b"", b"{}", b'[["ollama"]]', b"\xff", b'[["a", "b", 1]]'])
def test_a_damaged_file_says_nothing_and_is_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model-templates.json"
    path.write_bytes(content)
    assert LearntTemplates(path).of(WRITER) == NONE
    assert learnt(path).of(WRITER) == LearntTemplates(path).of(WRITER) == HERMES


def test_a_folder_that_takes_nothing_costs_no_answer(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("no folder", encoding="utf-8")
    assert learnt(tmp_path / "state" / "model-templates.json").of(WRITER) == HERMES


def test_only_so_many_models_are_remembered() -> None:
    templates = learnt()
    for number in range(MAX_MODELS):
        templates.wrote(("ollama", f"m{number}", "native"), HERMES)
    assert templates.of(WRITER) == NONE


def test_every_template_has_a_name_that_can_be_configured() -> None:
    own = {template_names.HERMES, template_names.TAGS, template_names.JSON, template_names.PYTHON}
    assert {one.name for one in TEMPLATES} | own == set(TEMPLATE_NAMES)
