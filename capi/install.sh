#!/usr/bin/env bash
# Installs libhetdwarf: install.sh PREFIX [BUILT]
#
# BUILT: the folder with libhetdwarf_capi.so and .a; without it they are built for release.
set -euo pipefail
prefix=${1:?usage: install.sh PREFIX [BUILT]}
here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' "$here/../Cargo.toml")

built=${2:-}
if [ -z "$built" ]; then
    cargo build --release --manifest-path "$here/Cargo.toml"
    built=$(cargo metadata --format-version 1 --no-deps --manifest-path "$here/Cargo.toml" |
        sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release
fi

mkdir -p "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/lib/cmake/hetdwarf"
prefix=$(cd "$prefix" && pwd)
install -m 644 "$here/include/hetdwarf.h" "$here/include/hetdwarf.hpp" "$prefix/include"
install -m 755 "$built/libhetdwarf_capi.so" "$prefix/lib/libhetdwarf.so.$version"
# The number in the name is that of the interface: see build.rs.
ln -sf "libhetdwarf.so.$version" "$prefix/lib/libhetdwarf.so.0"
ln -sf libhetdwarf.so.0 "$prefix/lib/libhetdwarf.so"
# A build for tests alone has no static library.
if [ -e "$built/libhetdwarf_capi.a" ]; then
    install -m 644 "$built/libhetdwarf_capi.a" "$prefix/lib/libhetdwarf.a"
fi
for file in hetdwarf.pc hetdwarf-config.cmake hetdwarf-config-version.cmake; do
    case $file in
    *.pc) to=$prefix/lib/pkgconfig ;;
    *) to=$prefix/lib/cmake/hetdwarf ;;
    esac
    sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" "$here/cmake/$file.in" >"$to/$file"
done
echo "installed libhetdwarf $version in $prefix"
