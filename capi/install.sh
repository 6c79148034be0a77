#!/usr/bin/env bash
# Installs libhetdwarf: install.sh PREFIX [BUILT]
#
# DESTDIR, if it is set, goes before PREFIX, which has to be absolute then: the files are for PREFIX, and packed from there.
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

if [ -n "${DESTDIR:-}" ]; then
    case $prefix in
    /*) ;;
    *)
        echo "install.sh: with DESTDIR the prefix has to be absolute, not $prefix" >&2
        exit 2
        ;;
    esac
else
    mkdir -p "$prefix"
    prefix=$(cd "$prefix" && pwd)
fi
to=${DESTDIR:-}$prefix
mkdir -p "$to/include" "$to/lib/pkgconfig" "$to/lib/cmake/hetdwarf"
install -m 644 "$here/include/hetdwarf.h" "$here/include/hetdwarf.hpp" "$to/include"
install -m 755 "$built/libhetdwarf_capi.so" "$to/lib/libhetdwarf.so.$version"
# The number in the name is that of the interface: see build.rs.
ln -sf "libhetdwarf.so.$version" "$to/lib/libhetdwarf.so.0"
ln -sf libhetdwarf.so.0 "$to/lib/libhetdwarf.so"
# A build for tests alone has no static library.
if [ -e "$built/libhetdwarf_capi.a" ]; then
    install -m 644 "$built/libhetdwarf_capi.a" "$to/lib/libhetdwarf.a"
fi
# pkg-config splits flags at spaces that have no backslash; sed's replacement has backslash, & and the delimiter.
escaped=$(printf '%s' "$prefix" | sed -e 's/ /\\ /g' | sed -e 's/[\\&|]/\\&/g')
sed -e "s|@PREFIX@|$escaped|" -e "s|@VERSION@|$version|" "$here/cmake/hetdwarf.pc.in" >"$to/lib/pkgconfig/hetdwarf.pc"
for file in hetdwarf-config.cmake hetdwarf-config-version.cmake; do
    sed -e "s|@VERSION@|$version|" "$here/cmake/$file.in" >"$to/lib/cmake/hetdwarf/$file"
done
echo "installed libhetdwarf $version in $to"
echo "To start programs, run ldconfig, or link them with -Wl,-rpath,$prefix/lib"
