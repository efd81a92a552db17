#!/usr/bin/env bash
# Single operations, layers, optimizer steps and a tiny network: Tern against PyTorch on this machine's CPU.
#
#     benchmarks/operations.sh [--threads N]… [--rounds N] [--only TEXT]
#
# Prints a line per case: microseconds of both, and the ratio, PyTorch's time / Tern's. Otherwise like
# benchmarks/cifar10_step.sh. Where Debian's libtorch-dev is installed, PyTorch 1.13 in C++ makes the tiny
# network's step too: what is left of PyTorch's time there without Python. To install it, with some 160
# packages that it needs: apt-get install --no-install-recommends libtorch-dev

set -euo pipefail
# shellcheck source=benchmarks/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

prepare operations
libtorch=()
if [[ -f /usr/include/torch/csrc/api/include/torch/torch.h ]]; then
  if ! grep -q libtorch_mlp "$ROOT/build/build.ninja"; then
    "$MESON" setup --reconfigure -Dlibtorch=auto "$ROOT/build" >/dev/null
  fi
  build "$ROOT/build" benchmarks/libtorch_mlp
  libtorch=(--libtorch "$ROOT/build/benchmarks/libtorch_mlp")
else
  say "Without PyTorch's C++ interface: libtorch-dev is not installed."
fi
compare operations "${libtorch[@]}" "$@"
