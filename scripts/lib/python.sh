# Sourced by the commands: $root is this checkout, find_python prints an interpreter to start with.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)

# The makers of the model's runtime are told nothing, and it leaves no number of this machine behind
export ORT_DISABLE_TELEMETRY=1

# What the last search found; saves half a second where python3 is a slow shim
remembered_python="$root/.barnacle/python"

# The real path of an interpreter that is new enough and can make virtual environments
usable_python() {
    "$1" -I -c '
import sys
if sys.version_info < (3, 11):
    sys.exit(1)
import ensurepip, os, venv
print(os.path.realpath(sys.executable))
' 2>/dev/null
}

find_python() {
    local candidate found
    if [[ -z ${BARNACLE_PYTHON:-} && -r $remembered_python ]]; then
        read -r found <"$remembered_python" || true
        if [[ -x $found ]]; then
            printf '%s\n' "$found"
            return
        fi
    fi
    for candidate in ${BARNACLE_PYTHON:-python3.13 python3.12 python3.11 python3}; do
        if found=$(usable_python "$candidate"); then
            mkdir -p "$root/.barnacle"
            printf '%s\n' "$found" >"$remembered_python"
            printf '%s\n' "$found"
            return
        fi
    done
    explain_missing_python >&2
    return 1
}

# Why none of these (or of the usual ones) will do
explain_missing_python() {
    local candidate version
    (($#)) || set -- python3.13 python3.12 python3.11 python3
    for candidate; do
        version=$("$candidate" -I -c 'import platform; print(platform.python_version())' 2>/dev/null) || continue
        if "$candidate" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            echo "barnacle: Python $version is here, but it cannot make virtual environments."
            echo "Install Debian's package python3-venv (sudo apt install python3-venv) and try again."
            return
        fi
        echo "barnacle: Python $version is too old: 3.11 or newer is needed (Debian 12 has it)."
        return
    done
    echo "barnacle: no python3 found. Install Debian's packages python3 and python3-venv and try again."
}

# Runs scripts/lib/NAME.py's main with the remaining arguments in place of this shell
run_piece() {
    local python
    python=$(find_python) || exit 1
    exec "$python" "$root/scripts/lib" "$@"
}
