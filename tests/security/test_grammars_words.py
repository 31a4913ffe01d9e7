import pytest

from agent.security.grammars import versions
from agent.security.grammars.base import path


@pytest.mark.parametrize("word", ["/", "//", "/etc", "..", "../x", "a/../b", "a//b"])
def test_a_word_that_leads_out_of_the_workspace_is_refused(word: str) -> None:
    assert path(word) != ""


@pytest.mark.parametrize("word", [".", "./", "a", "a/", "./a", "a/b.txt"])
def test_a_word_beneath_the_workspace_is_taken(word: str) -> None:
    assert path(word) == ""


@pytest.mark.parametrize("word", ["a;b", "a b", "a..b", "-x", "a/../b", "a\n", "$(x)", ""])
def test_what_is_no_name_of_a_branch_is_refused(word: str) -> None:
    assert versions._name(word) != ""


@pytest.mark.parametrize("word", ["main", "feature/pump", "v1.0", "a-b_c"])
def test_a_name_of_a_branch_is_taken(word: str) -> None:
    assert versions._name(word) == ""
