# Sourced by scripts/test: the servers that the tests start, and the sandbox they look at. What
# cannot be had is said and its tests are skipped, counted and listed.

# Debian's server, which has pg_trgm
want_postgresql() {
    compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || want_debian postgres postgresql
}

# A journal that really runs, and systemd's library for the Python of Debian
want_journal() {
    want_debian journalctl systemd
    [[ -d /usr/lib/python3/dist-packages/systemd ]] || wanted+=(python3-systemd)
}

# A server with pgvector, which Debian 12 does not have; only its programs are used, so that the
# wheel of any Python will do
install_pgvector() {
    local target="$root/.barnacle/pgvector" lock="$root/scripts/requirements-pgvector.lock"
    [[ -x $target/pgserver/pginstall/bin/postgres || $(uname -m) != x86_64 ]] && return
    echo "test: installing a PostgreSQL with pgvector into .barnacle" >&2
    rm -rf "$target.new"
    if "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
        --require-hashes --only-binary :all: --implementation cp --python-version 3.11 \
        --abi cp311 --platform manylinux2014_x86_64 --target "$target.new" -r "$lock" >&2; then
        rm -rf "$target" && mv "$target.new" "$target"
    else
        echo "test: it was not installed; what needs it is skipped" >&2
    fi
}

# llama.cpp's own server, which Debian 12 and 13 do not have; it serves random weights
install_llama() {
    local unpacked="$root/.barnacle/llama"
    [[ -x $unpacked/llama-server && -x $unpacked/llama-completion ]] && return
    command -v llama-server >/dev/null && command -v llama-completion >/dev/null && return
    echo "test: unpacking llama.cpp's programs into .barnacle" >&2
    "$root/.venv/bin/python" "$root/scripts/lib" llama_server "$unpacked" >&2 ||
        echo "test: it was not unpacked; what needs it is skipped" >&2
}

# The Home Assistant that is looked at and asks; it runs with Python 3.13 and later alone
install_home_assistant() {
    local python
    if python=$(home_assistant_python); then
        install_locked home-assistant "Home Assistant" "$python" &&
            printf '%s\n' "$python" >"$root/.barnacle/home-assistant/python"
    else
        echo "test: Home Assistant needs Python 3.13; what needs it is skipped" >&2
    fi
}

# Ours, or another one of this machine
home_assistant_python() {
    local candidate
    for candidate in "$root/.venv/bin/python" python3.13 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.13.*/bin/python; do
        "$candidate" -I -c 'import sys, pip; sys.version_info < (3, 13) and sys.exit(1); print(sys.executable)' \
            2>/dev/null && return
    done
    return 1
}
