#!/usr/bin/env bash
# Prints the tables of BENCHMARKS.md. Needs valgrind, and takes about ten minutes on two cores. Arguments are passed to `counts`: a filter,
# or `--against FILE` to compare with an earlier output.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v valgrind >/dev/null; then
    echo "valgrind counts the instructions, and is not installed" >&2
    exit 2
fi
cargo test --quiet -p dwarf-tests --test allocations
cargo bench --quiet --no-default-features --features serde --profile dist --bench counts -- "$@"
cargo bench --quiet --no-default-features --features serde --profile dist --bench time
