# shellcheck shell=bash
# The environment of Python's tests, which check.sh sources. Expects the root of the project as the current folder.

# python_environment yes|no TORCH: makes the virtual environment build/release/venv of Debian's interpreter with PyPI's packages
# of tests/engine/python/requirements.txt, and where TORCH is yes those of requirements_torch.txt and requirements_model.txt.
# It is made once; what is missing, or was interrupted, is completed, and complete.txt then names the lists that it holds.
# Where it cannot be made, $without_environment says why, and Debian's packages are used.
debian_python=/usr/bin/python3
environment=build/release/venv
without_environment=""
python_environment() {
    local install=$1 torch=$2 lists=tests/engine/python/requirements
    environment_holds "$install" "$lists.txt" || return 0
    [ "$torch" = yes ] || return 0
    environment_holds "$install" "${lists}_torch.txt" || return 0
    environment_holds "$install" "${lists}_model.txt" || return 0
}

# environment_holds yes|no LIST: whether the environment has the list's packages, installed now where they are missing.
environment_holds() {
    local install=$1 list=$2 before wanted try
    wanted="$(basename "$list") $(sha256sum <"$list" | cut -c1-16) of $("$debian_python" --version 2>&1)"
    before=$(cat "$environment/complete.txt" 2>/dev/null || true)
    ! grep -qxF "$wanted" <<<"$before" || return 0
    without_environment="no PyPI's packages of $list"
    if [ "$install" = no ]; then
        without_environment+=": --no-install"
    elif ! "$debian_python" -c 'import ensurepip, venv' 2>/dev/null; then
        without_environment="no python3-venv (apt-get install python3-venv)"
    else
        echo "Installing from PyPI what $list names"
        rm -f "$environment/complete.txt"
        for try in "" --clear; do
            # shellcheck disable=SC2086  # nothing, or one word
            if ! "$debian_python" -m venv $try "$environment" || ! install_list "$list"; then break; fi
            if imports_list "$list"; then
                { grep -v "^$(basename "$list") " <<<"$before" || true; echo "$wanted"; } | grep . >"$environment/complete.txt"
                without_environment=""
                return 0
            fi
        done
        without_environment="no PyPI: pip could not install what $list names"
        [ -z "$before" ] || echo "$before" >"$environment/complete.txt"
    fi
    echo "skipped: $without_environment" >&2
    return 1
}

# install_list LIST: by pip. PyTorch comes first and alone, from the index of its builds for processors where that can be
# reached: PyPI's build for x86 brings CUDA along. A list with hashes names each package, and is installed without others.
install_list() {
    local pip=("$environment/bin/python" -m pip --disable-pip-version-check -qq) torch
    torch=$(grep '^torch==' "$1" || true)
    if [ -n "$torch" ]; then
        "${pip[@]}" --retries 0 --timeout 15 install --index-url https://download.pytorch.org/whl/cpu "$torch" 2>/dev/null ||
            "${pip[@]}" install "$torch" || return 1
    fi
    # shellcheck disable=SC2046  # nothing, or one word
    "${pip[@]}" install $(grep -q -e --hash= "$1" && echo --no-deps) -r "$1"
}

# imports_list LIST: whether the environment's interpreter finds each package whole enough to import it.
imports_list() {
    "$environment/bin/python" -c "$(sed -nE 's/^([a-z0-9_-]+).*/\1/p' "$1" | tr - _ | sed 's/^/import /')" >/dev/null 2>&1
}
