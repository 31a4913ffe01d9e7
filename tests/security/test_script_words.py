import shlex

import pytest

from agent.security.script_words import are_made_later


def read(script: str) -> bool:
    lexer = shlex.shlex(script, posix=True, punctuation_chars=";&|(){}")
    lexer.whitespace_split = True
    return are_made_later(list(lexer), {"tools"}.__contains__)


@pytest.mark.parametrize(
    "script",
    [
        *("sh tools/*.sh", "sh check?", "sh [ab].sh", "sh $x", "sh a{1,2}.sh", "sh `ls`"),
        *("$x", "./*.sh", "./a{1,2}", "env -i ./*.sh", "timeout 5 $x", "if sh $x; then ls; fi"),
        # What comes by the standard input
        *("cat x | sh", "ls | xargs sh", "sh -e", "python3"),
        *("find . -exec {} +", "find . -exec sh {} +", "find . -execdir $x {} +"),
        *("cd $x; sh a", "awk -f *.awk x", "make -f $x", "make -C tools", "python3 tools"),
        *("PATH=tools plain", "BASH_ENV=a sh b", "eval sh a", "alias a=b", "run-parts tools"),
    ],
)
def test_only_a_run_says_what_is_run(script: str) -> None:
    assert read(script)


@pytest.mark.parametrize(
    "script",
    [
        *("sh a.sh", "sh -e a.sh *.csv $x", "python3 -c x", "python3 a.py *.csv", ". ./a"),
        *("ls *.md", "grep a *.txt | sort", "echo $x", "[ -f $x ] && ls", "test -f $x", "A=$x ls"),
        *("ls {a,b}.md", "{ ls; }", "sh a.sh; { ls; }"),
        *("find . -exec wc -l {} +", "ls | xargs wc -l", "cd lib && ./plain", "make all"),
        *("for f in *.csv; do wc $f; done", "awk -f sum.awk *.csv", ""),
    ],
)
def test_the_script_says_what_is_run(script: str) -> None:
    assert not read(script)
