"""Options that stand alone, of every command of git: each is taken, and what it may do is known."""

import pytest

from agent.security.grammars import git

SHOWN = (
    "--stat --numstat --shortstat --name-only --name-status --no-color --patch --no-patch --check "
    "--raw --summary --minimal --patience --histogram --ignore-all-space --ignore-space-change "
    "--no-prefix --ignore-blank-lines --ignore-space-at-eol --function-context --exit-code --quiet "
    "--compact-summary --no-renames --full-index --patch-with-stat --dirstat --binary --text --cc "
    "--no-ext-diff --no-textconv --ignore-submodules=all"
)
WALKED = (
    "--oneline --graph --all --reverse --merges --no-merges --branches --follow --first-parent "
    "--tags --remotes --no-decorate --left-right --abbrev-commit --no-abbrev-commit --topo-order "
    "--date-order --parents --author-date-order --boundary --cherry-pick --relative-date "
    "--full-history --all-match --invert-grep --regexp-ignore-case --extended-regexp --children "
    "--fixed-strings --perl-regexp --pickaxe-regex --walk-reflogs --simplify-merges"
)
# A command, and what it takes beside any one of these options
LOOKING = {
    "status": "--short --branch --long --ignored --ignore-submodules=all --show-stash --verbose "
    "--no-renames --ahead-behind --no-ahead-behind --renames",
    "log": f"{SHOWN} {WALKED}",
    "whatchanged": f"{SHOWN} {WALKED}",
    "stash list": f"{SHOWN} {WALKED}",
    "diff": f"{SHOWN} --cached --staged --merge-base --base --ours --theirs",
    "show": f"{SHOWN} --oneline --abbrev-commit --no-decorate --first-parent",
    "stash show": f"{SHOWN} --include-untracked --only-untracked",
    "blame a.txt": "--porcelain --line-porcelain --show-email --show-name --show-number --root "
    "--first-parent --incremental --show-stats --no-progress",
    "shortlog": "--summary --numbered --email --all --no-merges",
    "reflog": "--all --oneline",
    "rev-list HEAD": f"{WALKED} --count --objects --quiet",
    "ls-files": "--cached --deleted --modified --others --stage --ignored --unmerged --killed "
    "--exclude-standard --full-name --eol --error-unmatch --directory --no-empty-directory "
    "--deduplicate",
    "ls-tree HEAD": "--name-only --name-status --long --full-name --full-tree --object-only",
    "merge-base a b": "--all --is-ancestor --fork-point --octopus",
    "describe": "--tags --always --long --all --exact-match --first-parent --contains",
    "count-objects": "--verbose --human-readable",
    "show-ref": "--heads --tags --head --verify --dereference",
    "name-rev HEAD": "--name-only --tags",
    "remote": "--verbose",
    "remote get-url origin": "--all --push",
    "branch": "--all --list --remotes --show-current --verbose --no-color --ignore-case",
    "tag": "--list --ignore-case --no-color",
    "config": "--list --get --get-all --local --show-origin --name-only --show-scope",
}
CHANGING = {
    "stash": "--quiet --include-untracked --all --keep-index",
    "stash push": "--quiet --include-untracked --all --keep-index --staged",
    "stash pop": "--quiet --index",
    "stash apply": "--quiet --index",
    "stash drop": "--quiet",
    "branch main": "--delete --move --copy --quiet --no-track --track",
    "tag v1": "--annotate --delete --no-sign",
    "add": "--all --update --verbose --dry-run --intent-to-add",
    "commit": "--quiet --all --allow-empty --dry-run --short",
    "checkout a.txt": "--quiet --detach --ours --theirs --no-track",
    "switch main": "--quiet --detach --no-track",
    "merge main": "--quiet --ff-only --no-ff --ff --squash --no-commit --commit --abort --quit "
    "--stat --no-stat --no-edit",
    "cherry-pick a": "--abort --quit --no-commit",
    "revert a": "--abort --quit --no-commit --no-edit",
    "restore a.txt": "--quiet --staged --worktree --ours --theirs",
    "reset": "--quiet --soft --mixed",
    "rm a.txt": "--quiet --cached --dry-run",
    "mv a.txt b.txt": "--dry-run",
}
# They start a program, write a file, lose work, or read what lies elsewhere
HARMFUL = (
    *("--ext-diff", "--textconv", "--output=x", "--open-files-in-pager", "--no-index", "--exec=x"),
    *("--hard", "--force", "--keep", "--edit", "--gpg-sign", "--strategy=x", "--upload-pack=x"),
    *("--edit-description", "--global", "--system", "--file=x", "--unset", "--interactive"),
    *("--pathspec-from-file=x", "--contents=x", "--ignore-revs-file=x", "--show-signature"),
)


@pytest.mark.parametrize("command", LOOKING)
def test_an_option_that_only_looks_is_taken_as_such(command: str) -> None:
    for option in LOOKING[command].split():
        words = [*command.split(), option]
        assert (git.complaint(words), git.only_looks(words)) == ("", True), words


@pytest.mark.parametrize("command", CHANGING)
def test_an_option_of_what_changes_something_is_no_look(command: str) -> None:
    for option in CHANGING[command].split():
        words = [*command.split(), option]
        assert (git.complaint(words), git.only_looks(words)) == ("", False), words


@pytest.mark.parametrize("command", [*LOOKING, *CHANGING])
def test_an_option_that_does_harm_is_refused_everywhere(command: str) -> None:
    for option in HARMFUL:
        words = [*command.split(), option]
        assert git.complaint(words) != "", words
        assert not git.only_looks(words)


@pytest.mark.parametrize(
    ("line", "looks"),
    [
        *(("branch", True), ("branch main", False), ("branch --list ma*", True)),
        *(("branch --merged", True), ("branch --no-merged main", True), ("branch ma*", None)),
        *(("tag", True), ("tag v1", False), ("tag -l v*", True), ("tag v*", None)),
        *(("clean --dry-run", True), ("clean -nx", True), ("clean", None), ("clean -d", None)),
        *(("clean -d -n", True), ("clean -n .git/../..", None), ("clean notes -n", True)),
        *(("config user.name Ada", False), ("config user.name", True)),
        *(("config core.pager less", None), ("config user.name #x", None)),
        *(("remote", True), ("remote get-url origin", True), ("remote add x y", None)),
        *(("shortlog -n", True), ("shortlog --since=1.week", True), ("shortlog --skip 2", True)),
        *(("log main..", True), ("status --porcelain", True), ("status --porcelain=v3", None)),
        *(("status --column", True), ("log -- -p", True), ("checkout -- --force", False)),
        *(("checkout -", False), ("checkout ../x", None), ("diff main..work", True)),
        *(("diff a/../../x", None), ("log /etc", None), ("log --format=%an", True)),
        *(("log --format=%G?", None), ("log --pretty=signature", None)),
        *(("blame -L 1,+5 a.txt", True), ("blame -L /x/ a.txt", None)),
        *(("tag --sort=refname", True), ("tag --sort=%x", None), ("nonsense", None)),
    ],
)
def test_words_decide_between_a_look_a_change_and_a_refusal(
    line: str,
    looks: bool | None,  # noqa: FBT001 - a case of a table
) -> None:
    words = line.split()
    assert (git.complaint(words) == "") is (looks is not None)
    assert git.only_looks(words) is bool(looks)


@pytest.mark.parametrize("late", ["--local", "-l", "--list", "--get", "-z", "--show-scope", "--"])
def test_an_option_behind_the_name_of_a_setting_would_be_its_value(late: str) -> None:
    """`git config user.name --local` writes: git reads no option after the first name."""
    words = ["config", "user.name", late]
    assert git.complaint(words)
    assert not git.only_looks(words)
    assert git.complaint(["config", "user.name", "Ada", "--local"])
    assert git.only_looks(["config", "--local", "--", "user.name"])
    assert not git.only_looks(["config", "--local", "--", "user.name", "Ada"])
    assert not git.complaint(["config", "--local", "--", "user.name", "Ada"])
