#!/usr/bin/env bash
# Builds Tern and runs its tests; the last line is `N passed, N failed, N skipped`. Fails when a test fails,
# and when none ran.
#
#     scripts/test.sh [--full]
#
# --full adds what takes longer, within an hour on two cores: the suite `long`, the tests under the address
# and undefined-behaviour sanitizers (build-asan/) and under the thread sanitizer (build-tsan/), a clang build
# without warnings (build-clang/), formatting and clang-tidy. Each of the last three counts as one test.

set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

PASSED=0 FAILED=0 SKIPPED=0

add() { PASSED=$((PASSED + $1)) FAILED=$((FAILED + $2)) SKIPPED=$((SKIPPED + $3)); }

# run_tests DIR NAME [meson test arguments]: runs them and adds the results that Meson wrote to its log.
run_tests() {
  local directory=$1 name=$2 status=0 counts
  shift 2
  rm -f "$directory/meson-logs/$name"*.json
  "$MESON" test -C "$directory" --print-errorlogs --logbase "$name" "$@" || status=$?
  counts=$(python3 "$ROOT/scripts/count_tests.py" "$directory/meson-logs" "$name")
  # shellcheck disable=SC2086
  add $counts
  if ((status != 0)) && [[ $counts == *" 0 "* ]]; then
    say "meson test ended with status $status"
    add 0 1 0
  fi
}

# check NAME COMMAND…: a stage that passes or fails as a whole.
check() {
  local name=$1
  shift
  if "$@"; then
    add 1 0 0
  else
    say "FAILED: $name"
    add 0 1 0
  fi
}

built() {
  local directory=$1
  shift
  configure "$directory" "$@" && build "$directory"
}

sanitized() {
  local directory=$1 kind=$2 wrapper=()
  if [[ $kind == thread ]] && setarch "$(uname -m)" -R true 2>/dev/null; then
    wrapper=(--wrapper "setarch $(uname -m) -R")  # the thread sanitizer can't cope with much randomness
  fi
  # clang++ at level 1 builds this in less than half the time that g++ takes at level 2.
  if CC=clang CXX=clang++ built "$directory" -Dbuildtype=debugoptimized -Doptimization=1 -Db_lundef=false \
    "-Db_sanitize=$kind"; then
    run_tests "$directory" tests "${wrapper[@]}" --timeout-multiplier 5 --no-suite house --no-suite docs
  else
    say "FAILED: build with -fsanitize=$kind"
    add 0 1 0
  fi
}

full() {
  stage "Long tests"
  run_tests "$ROOT/build" long --suite long
  stage "Formatting"
  check "formatting" "$ROOT/scripts/format.sh" --check
  stage "clang++ without warnings (build-clang/)"
  CC=clang CXX=clang++ check "clang++ build" built "$ROOT/build-clang" -Dwerror=true
  stage "clang-tidy"
  check "clang-tidy" "$ROOT/scripts/tidy.sh"
  stage "Address and undefined-behaviour sanitizers (build-asan/)"
  sanitized "$ROOT/build-asan" address,undefined
  stage "Thread sanitizer (build-tsan/)"
  sanitized "$ROOT/build-tsan" thread
}

if (($#)) && [[ $* != --full ]]; then fail "usage: scripts/test.sh [--full]"; fi
stage "Set-up"
set_up "$@"
stage "Build"
if built "$ROOT/build"; then
  stage "Tests"
  run_tests "$ROOT/build" tests --no-suite long
  if [[ ${1:-} == --full ]]; then full; fi
  say
  say "Again, or in part: $(meson_as_typed) test -C build [--suite NAME] [TEST]"
else
  say "FAILED: build"
  add 0 1 0
fi
say "$PASSED passed, $FAILED failed, $SKIPPED skipped"
((FAILED == 0 && PASSED > 0))
