# Sourced by scripts/test: what our side of model services, Telegram, Matrix and Home Assistant is held against. What
# cannot be had is said and its tests are skipped, counted and listed.

# Clients that others wrote, the model services' own among them: they say whether our requests are
# right
install_oracles() {
    local target="$root/.barnacle/oracles" lock="$root/scripts/requirements-oracles.lock"
    local made_from
    # Compiled parts serve one Python
    made_from=$("$root/.venv/bin/python" -V && cat "$lock")
    [[ $(cat "$target/made-from" 2>/dev/null) == "$made_from" ]] && return
    echo "test: installing the model services' own clients into .barnacle" >&2
    rm -rf "$target.new"
    if "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
        --require-hashes --only-binary :all: --target "$target.new" -r "$lock" >&2; then
        printf '%s\n' "$made_from" >"$target.new/made-from"
        rm -rf "$target" && mv "$target.new" "$target"
    else
        echo "test: they were not installed; what needs them is skipped" >&2
    fi
}

# The homeserver that Matrix is held against, for the Python that its tests run on
install_synapse() {
    local target="$root/.barnacle/synapse" lock="$root/scripts/requirements-synapse.lock"
    local made_from
    made_from=$("$root/.venv/bin/python" -V && cat "$lock")
    [[ $(cat "$target/made-from" 2>/dev/null) == "$made_from" ]] && return
    echo "test: installing Synapse into .barnacle" >&2
    rm -rf "$target.new"
    if "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
        --require-hashes --only-binary :all: --target "$target.new" -r "$lock" >&2; then
        printf '%s\n' "$made_from" >"$target.new/made-from"
        rm -rf "$target" && mv "$target.new" "$target"
    else
        echo "test: it was not installed; what needs it is skipped" >&2
    fi
}

# The Home Assistant that is looked at and asks, for Python 3.13 and later alone
install_home_assistant() {
    local target="$root/.barnacle/home-assistant" lock="$root/scripts/requirements-home-assistant.lock"
    local made_from
    made_from=$("$root/.venv/bin/python" -V && cat "$lock")
    [[ $(cat "$target/made-from" 2>/dev/null) == "$made_from" ]] && return
    if ! "$root/.venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 13))'; then
        echo "test: Home Assistant needs Python 3.13; what needs it is skipped" >&2
        return
    fi
    echo "test: installing Home Assistant into .barnacle" >&2
    rm -rf "$target.new"
    if "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
        --require-hashes --only-binary :all: --target "$target.new" -r "$lock" >&2; then
        printf '%s\n' "$made_from" >"$target.new/made-from"
        rm -rf "$target" && mv "$target.new" "$target"
    else
        echo "test: it was not installed; what needs it is skipped" >&2
    fi
}

# The pretended model services of @copilotkit/aimock, whose authors never saw our fakes
install_aimock() { install_npm aimock; }

# What Element reads and writes in encrypted rooms with
install_element() { install_npm element; }

# Discord's public description of its API, as schemas
install_discord_api() { install_npm discord_api; }

# What chat programs find links with
install_linkifiers() { install_npm linkifiers; }

# The Model Context Protocol's own suite for clients
install_mcp_conformance() { install_npm mcp_conformance; }

install_npm() { # NAME, as in tests/fakes
    local target="$root/.barnacle/$1" pinned="$root/tests/fakes/$1"
    cmp --silent "$pinned/package-lock.json" "$target/package-lock.json" && return
    if ! command -v npm >/dev/null && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
        echo "test: installing nodejs and npm" >&2
        {
            apt-get -q update &&
                DEBIAN_FRONTEND=noninteractive \
                    apt-get -q -y install --no-install-recommends nodejs npm
        } >&2 || true
    fi
    echo "test: installing $1 into .barnacle" >&2
    rm -rf "$target.new" && mkdir -p "$target.new"
    cp "$pinned"/package*.json "$pinned/.npmrc" "$target.new"
    if npm ci --prefix "$target.new" --ignore-scripts --no-audit --no-fund --silent >&2; then
        rm -rf "$target" && mv "$target.new" "$target"
    else
        echo "test: it was not installed; what needs it is skipped" >&2
    fi
}
