# clang and lld without a C library: the headers and functions that edgekit needs lie beside this file.
# -DEDGEKIT_HEXAGON_ARCH=v68 (v73, ...) builds for later cores; v66 is what QEMU runs.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR hexagon)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES EDGEKIT_HEXAGON_ARCH)
set(EDGEKIT_LIBM "")
if(NOT EDGEKIT_HEXAGON_ARCH)
  set(EDGEKIT_HEXAGON_ARCH v66)
endif()

set(CMAKE_C_COMPILER clang-19)
set(CMAKE_ASM_COMPILER clang-19)
set(CMAKE_AR llvm-ar-19)
set(CMAKE_RANLIB llvm-ranlib-19)
set(CMAKE_C_COMPILER_TARGET hexagon-unknown-elf)
set(CMAKE_ASM_COMPILER_TARGET hexagon-unknown-elf)

# The compiler's defaults are an unsigned char, short enums, and small data through a register that
# somebody has to set.
set(hexagon "-m${EDGEKIT_HEXAGON_ARCH} -mhvx -mhvx-length=128B -ffreestanding -nostdlibinc -G0")
set(hexagon "${hexagon} -isystem ${CMAKE_CURRENT_LIST_DIR}/include")
set(CMAKE_C_FLAGS_INIT "${hexagon} -fsigned-char -fno-short-enums -fPIC -ffunction-sections -fdata-sections")
set(CMAKE_C_FLAGS_MINSIZEREL "-O2 -DNDEBUG" CACHE STRING "Not -Os: it calls routines of compiler-rt")
set(CMAKE_ASM_FLAGS_INIT "${hexagon}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-nostdlib -fuse-ld=lld -Wl,--gc-sections")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostdlib -static -fuse-ld=lld -Wl,--gc-sections")
