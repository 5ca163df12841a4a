#!/usr/bin/env bash
# Sets up what is missing and runs every check: formats and lints, native tests, the build
# of the page, and the tests of the page in Chromium. Ends with the sum of all tests.
set -uo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh test || exit 1
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
passed=0
failed=0
step() {
  local name="$1"
  shift
  printf '\n== %s\n' "$name"
  "$@" 2>&1 | tee "$log"
  local status="${PIPESTATUS[0]}"
  # cargo's and node's own counts; a step that counts nothing is one test.
  local ok bad
  ok="$(sed -nE 's/^test result: .* ([0-9]+) passed.*/\1/p; s/^# pass ([0-9]+)$/\1/p; s/^ℹ pass ([0-9]+)$/\1/p' "$log" | awk '{n += $1} END {print n + 0}')"
  bad="$(sed -nE 's/^test result: .* ([0-9]+) failed.*/\1/p; s/^# fail ([0-9]+)$/\1/p; s/^ℹ fail ([0-9]+)$/\1/p' "$log" | awk '{n += $1} END {print n + 0}')"
  if [ "$ok" = 0 ] && [ "$bad" = 0 ]; then
    if [ "$status" = 0 ]; then ok=1; else bad=1; fi
  elif [ "$status" != 0 ] && [ "$bad" = 0 ]; then
    bad=1
  fi
  passed=$((passed + ok))
  failed=$((failed + bad))
}
step "format" cargo fmt --check
step "clippy" cargo clippy --quiet --all-targets -- -D warnings
step "native tests" cargo test --quiet --no-fail-fast
step "build of the page" node scripts/build.mjs
step "types" node_modules/.bin/tsc -p .
step "eslint" node_modules/.bin/eslint www/src
step "licences" node scripts/licences.mjs --check
step "page tests" node --test tests/browser/
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
