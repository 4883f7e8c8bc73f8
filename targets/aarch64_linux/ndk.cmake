# Android, 64-bit, by Google's NDK: -DCMAKE_TOOLCHAIN_FILE=ndk.cmake, with ANDROID_NDK_HOME (or
# -DANDROID_NDK) naming the NDK's folder. Untested: no NDK was at hand. main.c wants aligned_alloc,
# which Android has from API level 28 on.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ANDROID_NDK)
if(NOT ANDROID_NDK)
  set(ANDROID_NDK "$ENV{ANDROID_NDK_HOME}")
endif()
if(NOT EXISTS "${ANDROID_NDK}/build/cmake/android.toolchain.cmake")
  message(FATAL_ERROR "ANDROID_NDK is '${ANDROID_NDK}', which is no NDK: set ANDROID_NDK_HOME to its folder")
endif()
if(NOT ANDROID_ABI)
  set(ANDROID_ABI arm64-v8a)
endif()
if(NOT ANDROID_PLATFORM)
  set(ANDROID_PLATFORM android-28)
endif()
include("${ANDROID_NDK}/build/cmake/android.toolchain.cmake")
