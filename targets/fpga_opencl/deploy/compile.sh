#!/bin/sh
# Compile the accelerator for a board: hours, with the vendor's tools. NOT TESTED: edgekit was made
# without them. The options are those of the vendors' manuals; BOARD and PLATFORM are yours.
set -eu
case "${1:-}" in
intel) # Intel FPGA SDK for OpenCL Pro Edition: edgekit.aocx
    aoc -v -report -DEK_CONFIG -I . -board="${BOARD:?name the board, as aoc -list-boards does}" \
        edgekit.cl -o edgekit.aocx ;;
amd) # Vitis: edgekit.xclbin. It has no channels of OpenCL C, so stages are linked by memory.
    sed '/EK_CHANNELS/d' edgekit_config.h > amd_config.h
    for kernel in ek_info ek_read ek_window ek_mac ek_requant ek_pool ek_write; do
        v++ -c -t hw --platform "${PLATFORM:?name the platform}" -k "$kernel" -include amd_config.h \
            edgekit.cl -o "$kernel.xo"
    done
    v++ -l -t hw --platform "$PLATFORM" ek_*.xo -o edgekit.xclbin ;;
*) echo "usage: BOARD=... $0 intel | PLATFORM=... $0 amd" >&2; exit 2 ;;
esac
