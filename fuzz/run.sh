#!/usr/bin/env bash
# Runs every target for some minutes, one after the other, from the seeds and the inputs of earlier runs.
#
#   fuzz/run.sh MINUTES [TARGET…]
#
# Findings of a target are in fuzz/artifacts/TARGET, its output in fuzz/artifacts/TARGET.log. The status is 1
# if any target found something. SECONDS_EACH=N runs each for N seconds instead.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

minutes=${1:?usage: fuzz/run.sh MINUTES [TARGET…]}
shift
seconds=${SECONDS_EACH:-$((minutes * 60))}
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
    mapfile -t targets < <(sed -n 's/^name = "\(.*\)"/\1/p' fuzz/Cargo.toml | grep -v '^hetdwarf-fuzz$')
fi

# The library has no unsafe code, so no sanitizer is needed, and the targets run several times as fast. Overflow checks and
# debug assertions stay on.
cargo +nightly fuzz build --sanitizer none || exit 2
cargo run --quiet -p dwarf-tests --example fuzz_seeds -- fuzz/corpus || exit 2
built=fuzz/target/$(rustc +nightly -vV | sed -n 's/^host: //p')/release

# Prints the largest input of a target: libFuzzer is faster with small ones, but an ELF file or a bundle has to fit.
max_len() {
    case $1 in
    object | containers) echo 16384 ;;
    call_frames | snapshot | bundles | archives | configuration | baseline | adapter) echo 4096 ;;
    entries | lines | frames | lists | flow) echo 1024 ;;
    damage | capi) echo 97 ;;
    machine_code) echo 40 ;;
    *) echo 256 ;;
    esac
}

# Prints the length control of a target: if length does not determine the effect of an input, long inputs are tried at once.
len_control() {
    case $1 in
    damage | capi | gimli | gpu_core | machine_code | bundles | archives | entries | lines | frames | lists | flow) echo 0 ;;
    *) echo 100 ;;
    esac
}

failed=()
mkdir -p fuzz/artifacts
for target in "${targets[@]}"; do
    mkdir -p "fuzz/corpus/$target" "fuzz/artifacts/$target"
    log=fuzz/artifacts/$target.log
    "$built/$target" "fuzz/corpus/$target" \
        -artifact_prefix="fuzz/artifacts/$target/" -max_total_time="$seconds" -max_len="$(max_len "$target")" \
        -len_control="$(len_control "$target")" \
        -timeout=5 -rss_limit_mb=512 -print_final_stats=1 -verbosity=1 >"$log" 2>&1
    status=$?
    summary=$(grep -aE '^#[0-9]+.*(DONE|INITED|pulse|NEW|REDUCE)' "$log" | tail -1 | tr '\t' ' ')
    echo "$target: $summary"
    if [ $status != 0 ]; then
        failed+=("$target")
        # If only the output is kept, it has to contain the finding and its input.
        grep -aE -A 2 'panicked at|ERROR|ALARM|SUMMARY|Base64' "$log" | head -40
    fi
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "found something: ${failed[*]}; see fuzz/artifacts" >&2
    exit 1
fi
