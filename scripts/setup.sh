#!/usr/bin/env bash
# Installs what Tern's build needs and this machine lacks: Debian packages with apt, and with pip into .venv/
# of this checkout Meson (Debian's own is too old) and the Python packages that tests exchange files with.
# Says what it will install before it does so; does nothing where nothing is missing.
#
#     scripts/setup.sh [--full]     --full: also the tools of `scripts/test.sh --full`
#
# demo.sh and test.sh source this file: it gives them the functions below, and `set_up` sets MESON.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
VENV=$ROOT/.venv
REQUIREMENTS=$ROOT/scripts/requirements.txt

# command:package, where the command is what counts, and packages without a command.
TOOLS=(g++:g++ ninja:ninja-build pkg-config:pkg-config python3:python3)
FULL_TOOLS=(clang++:clang clang-format:clang-format clang-tidy:clang-tidy)
FULL_LIBRARIES=(libclang-rt-dev)  # the sanitizers'
LIBRARIES=(ca-certificates dataset-fashion-mnist doctest-dev libarchive-dev libcli11-dev libcurl4-openssl-dev
  libdlpack-dev libdnnl-dev libeigen3-dev libfmt-dev libgloo-dev libicu-dev libssl-dev libzstd-dev
  nlohmann-json3-dev zlib1g-dev)

stage() { printf '\n== %s\n' "$*"; }
say() { printf '%s\n' "$*"; }
fail() { printf '%s\n' "$*" >&2; exit 1; }

# The packages that are missing, one a line. Arguments: the tools to look for besides the libraries.
missing_packages() {
  local tool
  for tool in "$@"; do
    command -v "${tool%%:*}" >/dev/null || say "${tool##*:}"
  done
  if ! meson_is_ready && ! python3 -c 'import ensurepip, venv' 2>/dev/null; then say python3-venv; fi
  command -v dpkg-query >/dev/null || return 0
  # shellcheck disable=SC2016
  local installed format='${db:Status-Abbrev}${Package}\n'
  installed=$(dpkg-query --show --showformat="$format" "${LIBRARIES[@]}" 2>/dev/null || true)
  for tool in "${LIBRARIES[@]}"; do
    grep -qx "ii *$tool" <<<"$installed" || say "$tool"
  done
}

install_packages() {
  local log as_root=() command="apt-get install --no-install-recommends $*"
  local advice="Install them and start again:"$'\n'"    $command"
  say "Missing Debian packages: $*"
  command -v apt-get >/dev/null || fail "There is no apt-get here: install what they hold, then start again."
  if [[ $(id -u) != 0 ]]; then
    as_root=(sudo)
    [[ -t 0 ]] || as_root=(sudo -n)
    command -v sudo >/dev/null || fail "Not root, and there is no sudo. $advice"
    "${as_root[@]}" true || fail "sudo refuses. $advice"
  fi
  say "Installing them: $command"
  log=$(mktemp)
  "${as_root[@]}" apt-get update -qq || say "apt-get update failed; trying with the lists at hand"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends "$@" \
    >"$log" 2>&1 || { tail -n 20 "$log" >&2; fail "apt-get could not install. $advice"; }
  rm -f "$log"
}

# What .venv/ must have been made of: another place or another version is another environment.
venv_stamp() { say "$ROOT"; cat "$REQUIREMENTS"; }

venv_is_ready() {
  [[ -x $VENV/bin/meson && -x $VENV/bin/python ]] && venv_stamp | cmp -s - "$VENV/stamp"
}

system_meson_is_right() {
  command -v meson >/dev/null && grep -qx "meson==$(meson --version)" "$REQUIREMENTS"
}

meson_is_ready() { venv_is_ready || system_meson_is_right; }

install_meson() {
  say "Installing $(paste -sd ' ' "$REQUIREMENTS") with pip into ${VENV#"$ROOT"/}/"
  rm -rf "$VENV"
  python3 -m venv "$VENV"
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$REQUIREMENTS" ||
    fail "pip could not install what $REQUIREMENTS lists: it needs a package index or its mirror."
  venv_stamp >"$VENV/stamp"
}

# Installs what is missing and sets MESON. Argument --full: see the top.
set_up() {
  local tools=("${TOOLS[@]}") missing
  if [[ ${1:-} == --full ]]; then
    tools+=("${FULL_TOOLS[@]}")
    LIBRARIES+=("${FULL_LIBRARIES[@]}")
  fi
  mapfile -t missing < <(missing_packages "${tools[@]}")
  if ((${#missing[@]})); then install_packages "${missing[@]}"; else say "No package is missing."; fi
  if venv_is_ready; then
    MESON=$VENV/bin/meson
  elif system_meson_is_right; then
    MESON=$(command -v meson)
  else
    install_meson
    MESON=$VENV/bin/meson
  fi
}

# configure DIR [meson options]: makes the build directory, or mends one that another checkout or another
# Meson has made, so that ninja can always regenerate it. A directory that is right keeps its options.
configure() {
  local directory=$1 log mode=()
  shift
  if [[ -f $directory/build.ninja ]]; then
    if ! grep -qsF "\"source\": \"$ROOT\"" "$directory/meson-info/meson-info.json"; then
      say "$directory was made by another checkout: building afresh"
      rm -rf "$directory"
    elif grep -qF "$MESON" "$directory/build.ninja"; then
      return 0
    else
      mode=(--reconfigure)
    fi
  fi
  log=$(mktemp)
  if ! "$MESON" setup "${mode[@]}" "$directory" "$ROOT" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# build DIR [targets]: ninja, with its progress on a terminal and only what goes wrong elsewhere.
build() {
  local directory=$1 quiet=()
  shift
  [[ -t 1 ]] || quiet=(--quiet)
  ninja -C "$directory" "${quiet[@]}" "$@"
}

# How a user types Meson here: the path from the checkout, or plain `meson`.
meson_as_typed() {
  if [[ $MESON == "$VENV/"* ]]; then say ".venv/bin/meson"; else say meson; fi
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set_up "$@"
  say "Ready. Meson: $(meson_as_typed)"
fi
