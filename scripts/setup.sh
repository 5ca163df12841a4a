#!/usr/bin/env bash
# Sets up what is missing for building (`setup.sh build`) or also for testing
# (`setup.sh test`). Quick when all is there. Installs nothing into the repository but
# node_modules.
set -euo pipefail
cd "$(dirname "$0")/.."
what="${1:-build}"
setting() { sed -n "s/^$1 = \"\(.*\)\"/\1/p" wasm-pack.toml; }
say() { printf '%s\n' "$*" >&2; }
fail() { say "setup: $*"; exit 1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else fail "\`$*\` needs root. Run it yourself, then run this again."; fi
}
apt_updated=
apt() {
  command -v apt-get >/dev/null || fail "cannot install $*: this is no Debian. Install it with your package manager, then run this again."
  [ -n "$apt_updated" ] || { as_root apt-get update -qq; apt_updated=1; }
  DEBIAN_FRONTEND=noninteractive as_root apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

command -v cargo >/dev/null || fail "cargo is missing. Install Rust (https://rustup.rs), then run this again."
command -v node >/dev/null || fail "node is missing. Install Node.js 20 or later, then run this again."

# The wasm target: by rustup; else Debian's compiler with a standard library built for it.
target=wasm32-unknown-unknown
has_target() { [ -n "$(ls "$("$1" --print sysroot)/lib/rustlib/$target/lib/"libstd-*.rlib 2>/dev/null)" ]; }
if has_target rustc; then
  toolchain=standard
elif [ -x /usr/bin/rustc ] && has_target /usr/bin/rustc; then
  toolchain=debian
elif command -v rustup >/dev/null && timeout 120 rustup target add "$target" >/dev/null 2>&1; then
  toolchain=standard
else
  say "setup: rustup cannot add $target; building its standard library with Debian's compiler"
  apt rustc-web cargo-web rust-web-src lld
  work="$(mktemp -d)"
  mkdir -p "$work/src"
  printf '[package]\nname = "sysroot"\nversion = "0.0.0"\nedition = "2021"\n[profile.release]\npanic = "abort"\n' > "$work/Cargo.toml"
  printf '#![no_std]\n' > "$work/src/lib.rs"
  (cd "$work" && RUSTC_BOOTSTRAP=1 RUSTFLAGS="-C embed-bitcode=yes" RUSTC=/usr/bin/rustc CARGO_TARGET_DIR="$work/target" \
    /usr/bin/cargo build --release --target "$target" -Z build-std=std,panic_abort,proc_macro -Z build-std-features= >&2)
  lib="$(/usr/bin/rustc --print sysroot)/lib/rustlib/$target/lib"
  as_root mkdir -p "$lib"
  for rlib in "$work/target/$target/release/deps/"*.rlib; do
    case "$rlib" in *libsysroot-*) ;; *) as_root cp "$rlib" "$lib/" ;; esac
  done
  rm -rf "$work"
  toolchain=debian
fi
mkdir -p build
printf '%s\n' "$toolchain" > build/toolchain

have() { "$1" --version 2>/dev/null | grep -qF " $2"; }
version="$(setting wasm-pack)"
have wasm-pack "$version" || { say "setup: installing wasm-pack $version"; cargo install --quiet --locked wasm-pack --version "$version"; }
version="$(setting wasm-bindgen-cli)"
have wasm-bindgen "$version" || { say "setup: installing wasm-bindgen $version"; cargo install --quiet wasm-bindgen-cli --version "$version"; }

# npm packages; quick when the lock file has not changed.
if [ ! -f node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci --no-audit --no-fund --silent
  touch node_modules/.package-lock.json
fi

if [ "$what" = test ]; then
  if [ -z "${CHROMIUM:-}" ] && ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
    say "setup: installing chromium"
    apt chromium
  fi
fi
