# Sourced by scripts/test: what our side of model services, Telegram and Matrix is held against. What
# cannot be had is said and its tests are skipped, counted and listed.

# Clients that others wrote, the model services' own among them: they say whether our requests are right
install_oracles() { install_locked oracles "the model services' own clients"; }

# The homeserver that Matrix is held against, and the service that hears a wake word
install_synapse() { install_locked synapse Synapse; }
install_wake_word() { install_locked wake-word openWakeWord; }

install_locked() { # NAME of the lock and of the folder in .barnacle, what it is in words, PYTHON
    local target="$root/.barnacle/$1" lock="$root/scripts/requirements-$1.lock"
    local python=${3:-$root/.venv/bin/python} made_from
    # Compiled parts serve one Python
    made_from=$("$python" -V && cat "$lock")
    [[ $(cat "$target/made-from" 2>/dev/null) == "$made_from" ]] && return
    echo "test: installing $2 into .barnacle" >&2
    rm -rf "$target.new"
    if "$python" -m pip install --quiet --disable-pip-version-check --no-deps \
        --require-hashes --only-binary :all: --target "$target.new" -r "$lock" >&2; then
        printf '%s\n' "$made_from" >"$target.new/made-from"
        rm -rf "$target" && mv "$target.new" "$target"
    else
        echo "test: it was not installed; what needs it is skipped" >&2
        return 1
    fi
}

# What each Pi has, by the kernel of the card: its device trees and its modules' names
install_kernel_trees() {
    local unpacked="$root/.barnacle/kernel-trees"
    [[ -e $unpacked/modules.builtin ]] && return
    echo "test: unpacking the kernel's device trees into .barnacle" >&2
    "$root/.venv/bin/python" "$root/scripts/lib" kernel_trees "$unpacked" >&2 ||
        echo "test: they were not unpacked; what needs them is skipped" >&2
}
