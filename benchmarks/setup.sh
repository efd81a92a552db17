# Sourced by the benchmarks: scripts/setup.sh's functions, and a Python that has PyTorch.

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/setup.sh"

BENCHMARKS=$ROOT/benchmarks

# Sets PYTHON to one that has the PyTorch of requirements.txt, installing it into benchmarks/.venv/ when it is
# missing. TERN_TORCH_PYTHON names a Python that has PyTorch already: then nothing is installed.
find_pytorch() {
  local venv=$BENCHMARKS/.venv
  PYTHON=${TERN_TORCH_PYTHON:-$venv/bin/python}
  if [[ -n ${TERN_TORCH_PYTHON:-} ]] || cmp -s "$BENCHMARKS/requirements.txt" "$venv/stamp"; then return; fi
  say "Installing $(paste -sd ' ' "$BENCHMARKS/requirements.txt") into benchmarks/.venv/: some gigabytes"
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$PYTHON" -m pip install --quiet --disable-pip-version-check --requirement "$BENCHMARKS/requirements.txt"
  cp "$BENCHMARKS/requirements.txt" "$venv/stamp"
}

# prepare NAME: what it takes to build and compare, and benchmarks/NAME built.
prepare() {
  stage "Set-up"
  set_up
  find_pytorch
  stage "Build"
  configure "$ROOT/build"
  build "$ROOT/build" "benchmarks/$1"
}

# compare NAME [arguments]: runs NAME.py, which calls benchmarks/NAME.
compare() {
  local name=$1
  shift
  stage "Measurement"
  exec "$PYTHON" "$BENCHMARKS/$name.py" --tern "$ROOT/build/benchmarks/$name" "$@"
}
