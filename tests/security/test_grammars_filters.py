"""Names that a filter of jq looks up, told from what is only data."""

import pytest

from agent.security.grammars.search import Unclear, name_beyond_json


@pytest.mark.parametrize(
    "text",
    [
        *(".env", ".a.env", '."env"', "{env: .a}", "{a: 1, env: 2}", '"env"', '"env \\(.a) env"'),
        *(
            ".a # env",
            "#\n.",
            "$env",
            "$ x",
            '@base64 "x\\(.a)"',
            '"a\\nenv"',
            '"\\"env"',
            "1.5e3, .5",
        ),
        *("[.[] | {a: .b}]", "reduce .[] as $x (0; . + $x)", "math::round", ""),
    ],
)
def test_data_may_be_called_like_a_name(text: str) -> None:
    assert name_beyond_json(text) == ""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *(("env", "env"), ("[env]", "env"), (".a # x\n| env", "env"), ("{env}", "env")),
        *(("{a: env}", "env"), ("{(env.a): 1}", "env"), ('"\\(env)"', "env"), ("a::env", "a::env")),
        *(("{a: 1 | env: 2}", "env"), ("[1, env : 2]", "env"), ('"\\("\\(env)")"', "env")),
        *(("$ENV", "$ENV"), ("$ ENV.PATH", "$ENV"), ("{$ENV}", "$ENV"), ("$ENV::a", "$ENV::a")),
        *(('import "a" as b; .', "import"), ('include "a"; .', "include")),
        *(("modulemeta", "modulemeta"), ("get_search_list", "get_search_list")),
    ],
)
def test_a_name_that_reaches_beyond_the_json_is_told(text: str, name: str) -> None:
    assert name_beyond_json(text) == name


@pytest.mark.parametrize("text", [".a # x\\\n| env", ".a # x\r| env", '. #\\\n"\nenv # "'])
def test_a_comment_whose_end_versions_see_elsewhere_is_not_read(text: str) -> None:
    with pytest.raises(Unclear, match="comment"):
        name_beyond_json(text)


@pytest.mark.parametrize("text", ['"abc', '"abc\\', "(", "{a: [1}", "]", "(.a]", '"\\(.a"'])
def test_what_does_not_end_is_not_read(text: str) -> None:
    with pytest.raises(Unclear):
        name_beyond_json(text)
