#!/bin/sh
# Measures how time and memory grow with the size of a code object. Generates objects, measures the commands, and writes benches/large.tsv
# and benches/large.svg. Prints a table. The arguments are sizes in MiB.
#
# Seconds are processor time (user and system), the least of several runs. Memory is the largest resident size, including the file, which is
# read (hetdwarf) or mapped (llvm-dwarfdump). Needs GNU time, and uses llvm-dwarfdump-22 and valgrind if they are installed.
set -eu
cd "$(dirname "$0")/.."
sizes=${*:-1 4 16 64 256 512}
cargo build --profile dist --quiet --all-features
cargo build --profile dist --quiet -p dwarf-tests --example large --example growth
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
hetdwarf=target/dist/hetdwarf
llvm=$(command -v llvm-dwarfdump-22 || true)
data=benches/large.tsv
printf 'command\tbytes\tseconds\tKiB\tinstructions\n' >"$data"

# measure NAME FILE COMMAND…
measure() {
    name=$1 file=$2
    shift 2
    bytes=$(wc -c <"$file")
    runs=5
    [ "$bytes" -gt 33554432 ] && runs=2
    least=$(
        for _ in $(seq $runs); do
            command time -o "$folder/time" -f '%U %S %M' "$@" >/dev/null 2>&1 || true
            tail -1 "$folder/time"
        done | awk '{ s = $1 + $2; if (NR == 1 || s < least) { least = s; kib = $3 } } END { printf "%.2f\t%d", least, kib }'
    )
    instructions=-
    if [ "$bytes" -lt 8388608 ] && command -v valgrind >/dev/null; then
        instructions=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null |
            sed -n 's/.*refs: *//p' | tr -d ,)
    fi
    printf '%s\t%s\t%s\t%s\n' "$name" "$bytes" "$least" "$instructions" >>"$data"
}

for size in $sizes; do
    object=$folder/object wave=$folder/wave.json
    at=$(target/dist/examples/large --megabytes "$size" --stop "$wave" "$object" | sed 's/.* at //')
    measure 'hetdwarf vars' "$object" "$hetdwarf" vars "$object" --wave "$wave"
    measure 'hetdwarf unwind' "$object" "$hetdwarf" unwind "$object" --wave "$wave"
    measure 'hetdwarf verify --jobs 1' "$object" "$hetdwarf" verify --jobs 1 "$object"
    measure 'hetdwarf verify, no machine code' "$object" "$hetdwarf" verify --jobs 1 --allow machine-code "$object"
    measure 'hetdwarf verify --jobs 2' "$object" "$hetdwarf" verify --jobs 2 "$object"
    if [ -n "$llvm" ]; then
        measure 'llvm-dwarfdump --lookup' "$object" "$llvm" --lookup="$at" "$object"
        measure 'llvm-dwarfdump --verify' "$object" "$llvm" --verify "$object"
    fi
    rm "$object"
done
target/dist/examples/growth "$data" benches/large.svg
