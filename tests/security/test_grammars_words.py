import re

import pytest

from agent.security.grammars import git, git_words
from agent.security.grammars.base import Grammar, path
from agent.security.grammars.folders import DF
from agent.security.grammars.machine import SEQ
from agent.security.grammars.search import JQ


@pytest.mark.parametrize("word", ["/", "//", "/etc", "..", "../x", "a/../b", "a//b"])
def test_a_word_that_leads_out_of_the_workspace_is_refused(word: str) -> None:
    assert path(word) != ""


@pytest.mark.parametrize("word", [".", "./", "a", "a/", "./a", "a/b.txt"])
def test_a_word_beneath_the_workspace_is_taken(word: str) -> None:
    assert path(word) == ""


@pytest.mark.parametrize("word", ["a;b", "a b", "a..b", "-x", "a/../b", "a\n", "$(x)", ""])
def test_what_is_no_name_of_a_branch_is_refused(word: str) -> None:
    assert git_words.name(word) != ""


@pytest.mark.parametrize("word", ["main", "feature/pump", "v1.0", "a-b_c"])
def test_a_name_of_a_branch_is_taken(word: str) -> None:
    assert git_words.name(word) == ""


@pytest.mark.parametrize(
    "line",
    [
        *("stash list", "stash show -p", "clean -n", "clean -nd notes", "blame -L 10,20 a.txt"),
        *("log --format=%h", "tag --sort=-v:refname", "branch --merged", "config user.name"),
    ],
)
def test_git_is_told_what_only_looks(line: str) -> None:
    words = line.split()
    assert git.complaint(words) == ""
    assert git.only_looks(words)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        *(("stash list --exec=x", "not an allowed option"), ("clean -x", "only with -n")),
        ("clean -n ../x", "refused"),
        *(("blame -L x a.txt", "not a range of lines"), ("log --format=%G?", "another program")),
        *(("tag --sort=contents", "refused"), ("config alias", "refused")),
        *(("stash burn", "refused"), ("push", "not an allowed git command")),
    ],
)
def test_git_is_told_nothing_else(line: str, why: str) -> None:
    assert re.search(why, git.complaint(line.split()))
    assert not git.only_looks(line.split())


@pytest.mark.parametrize(
    ("grammar", "line"),
    [
        *((DF, "/"), (DF, "notes"), (SEQ, "1")),
        *((DF, "-B 4K -t ext4,tmpfs"), (DF, "--output=source,size"), (SEQ, "1 0.5 3")),
        *((JQ, "--arg a b .x"), (JQ, "--argjson a 1 .x")),
    ],
)
def test_words_of_a_program_are_taken(grammar: Grammar, line: str) -> None:
    assert grammar.complaint(line.split()) == ""


@pytest.mark.parametrize(
    ("grammar", "line", "why"),
    [
        *(
            (DF, "-B x", "not a size"),
            (DF, "-t a/b", "not a list of names"),
            (SEQ, "1 x", "not a number"),
        ),
        *((JQ, ".x --arg", "a name and a value"), (JQ, ".x --arg a", "a name and a value")),
        *((JQ, "env", "may not use env"), (JQ, ".x[", "cannot be read")),
        *((DF, "/etc", "absolute"), (DF, "//", "absolute")),
    ],
)
def test_words_that_a_program_is_not_told_are_refused(
    grammar: Grammar, line: str, why: str
) -> None:
    assert why in grammar.complaint(line.split())
