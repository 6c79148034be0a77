#!/usr/bin/env bash
# Builds the x86 objects for the cases `mix/…` of `counts` into target/mixes: a C++ program, and SQLite by gcc and by clang. The source of
# SQLite comes from a crate. Takes about two minutes. Existing files are not built again.
set -euo pipefail
cd "$(dirname "$0")/.."

out=target/mixes
mkdir -p "$out"
clang=$(command -v clang || command -v clang-22 || true)
# The crate is only downloaded. None of its code is built or linked.
if [ ! -e "$out/sqlite3.c" ]; then
    cargo fetch --quiet --manifest-path benches/sqlite/Cargo.toml
    manifest=$(cargo metadata --quiet --format-version 1 --manifest-path benches/sqlite/Cargo.toml |
        grep -o '"manifest_path":"[^"]*libsqlite3-sys[^"]*"' | cut -d'"' -f4)
    cp "$(dirname "$manifest")/sqlite3/sqlite3.c" "$out/sqlite3.c"
fi
# The objects are linked, so that they have no relocations.
build() { [ -e "$out/$1" ] || "${@:2}" -g -O2 -fPIC -shared -o "$out/$1.new"; [ -e "$out/$1" ] || mv "$out/$1.new" "$out/$1"; }
build gcc gcc "$out/sqlite3.c"
[ -z "$clang" ] || build clang "$clang" "$out/sqlite3.c"
build c++ g++ benches/sqlite/containers.cpp

# Large objects for lookups.
for size in 4 64; do
    [ -e "$out/${size}MB" ] || cargo run --quiet --release -p dwarf-tests --example large -- --megabytes $size "$out/${size}MB"
done
