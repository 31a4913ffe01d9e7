# Sourced by scripts/test: packages of npm that our side is held against. What cannot be had is said and its tests are
# skipped, counted and listed.

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
    echo "test: installing $1 into .barnacle" >&2
    rm -rf "$target.new" && mkdir -p "$target.new"
    cp "$pinned"/package*.json "$pinned/.npmrc" "$target.new"
    if npm ci --prefix "$target.new" --ignore-scripts --no-audit --no-fund --silent >&2; then
        rm -rf "$target" && mv "$target.new" "$target"
    else
        echo "test: it was not installed; what needs it is skipped" >&2
    fi
}
