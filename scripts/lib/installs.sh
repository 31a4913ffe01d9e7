# Sourced by scripts/test and others: installs what tests are held against, much of it at once. What cannot
# be had is said; what needs it is skipped, counted and listed.

# Debian's packages that are not there yet
wanted=()

# want_debian PROGRAM PACKAGE...: Debian's packages, where the program is not there
want_debian() {
    command -v "$1" >/dev/null || [[ -x /usr/sbin/$1 ]] || wanted+=("${@:2}")
}

# All that is wanted, where we may: at once, because reading the lists takes longer than most packages
install_wanted() {
    ((${#wanted[@]})) && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null || return 0
    echo "test: installing ${wanted[*]}" >&2
    apt-get -q update >&2
    install_debian "${wanted[@]}" && return
    # One that cannot be had takes no other with it
    local package
    for package in "${wanted[@]}"; do
        install_debian "$package" ||
            echo "test: $package cannot be installed; what needs it is skipped" >&2
    done
}

install_debian() {
    DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "$@" >&2
}

# Installed at once: one waits for the network while others unpack
_AT_ONCE=3

# install_beside COMMAND...: each of them, some beside each other
install_beside() {
    local command count=0
    for command; do
        ((count++ < _AT_ONCE)) || wait -n
        "$command" &
    done
    wait
}
