#!/usr/bin/env bash
# Native benchmarks, then the page in Chromium on large files, each beside its yardstick.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh test
node scripts/build.mjs
cargo bench --quiet --bench decode -- --noplot
cargo run --quiet --release --example make_bench_data -- build/bench-data
node tests/browser/bench.mjs
