#!/bin/sh
# Install the cross compilers, emulators and cppcheck that tests use, where this is a Debian and we
# may. Elsewhere say what is missing: the tests that need it skip themselves with the reason.
set -eu
wanted="gcc-arm-none-eabi libnewlib-arm-none-eabi gcc-aarch64-linux-gnu libc6-dev-arm64-cross
        gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
        gcc-riscv64-linux-gnu libc6-dev-riscv64-cross gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf
        qemu-user qemu-system-arm qemu-system-misc clang-19 lld-19 llvm-19 pocl-opencl-icd ocl-icd-libopencl1 cppcheck"
missing=""
for package in $wanted; do
    dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
    echo "not a Debian: device tests whose tools are missing will be skipped:$missing" >&2
    exit 0
fi
as_root=""
if [ "$(id -u)" != 0 ]; then
    if ! sudo -n true 2>/dev/null; then
        echo "not root: device tests whose tools are missing will be skipped; install:$missing" >&2
        exit 0
    fi
    as_root="sudo -n"
fi
$as_root apt-get update -q
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
