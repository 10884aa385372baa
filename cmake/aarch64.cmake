# Toolchain file of the preset arm64: for 64-bit ARM, on another processor. Debian's g++-aarch64-linux-gnu compiles, and
# qemu-aarch64 of qemu-user runs what the build itself and ctest call.
#
# The libraries that are not headers alone (fmt, zlib, libdeflate, md4c, libseccomp) are those of Debian for arm64, in the folder
# The libraries that are not headers alone (fmt, zlib, libdeflate, md4c, libseccomp) are those of Debian for arm64, in the
# folder build/arm64-libraries: `fetch_arm64_libraries` of cmake/setup.sh puts them there.
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CXX_FLAGS_INIT -Wno-psabi)  # it notes what g++ 10 changed in how arguments are passed
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
list(PREPEND CMAKE_PREFIX_PATH ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-libraries/usr)
