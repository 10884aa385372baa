# Installation in two parts: `runtime` is the program with its manual, `dev` the libraries with their headers, a CMake
# package (cmake/ulplabConfig.cmake.in) and pkg-config files.
#
# Headers go below include/ulplab/, which is what the packages put on the include path: `#include "softfloat/text.hpp"`
# means the same in this tree and outside it, and the common words softfloat, engine and gpu are not claimed for
# everyone in /usr/include.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(ULPLAB_INSTALL_INCLUDE ${CMAKE_INSTALL_INCLUDEDIR}/ulplab)
set(ULPLAB_INSTALL_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/ulplab)

# From the folder of the pkg-config files up to the prefix, so that they hold in whatever folder the tree is put.
file(RELATIVE_PATH ULPLAB_PC_UP /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)

# Not for users: the bodies of softfloat's kernels, which want the flags of their instruction sets.
set(ULPLAB_PRIVATE_HEADERS
  "/array/(kernels/|make_plan|stages)[a-z0-9_]*\\.hpp$|/vector/(two_sum|vec_)[a-z0-9_]*\\.hpp$|/gemm_kernels/(aligned|kernels_|make_kernels|pack)[a-z0-9_]*\\.hpp$")

# ulplab_install_library(NAME SUMMARY TEXT [PC_REQUIRES TEXT] [PC_LIBS TEXT]): installs ulplab_NAME, the public headers of
# the folder NAME, and NAME's CMake targets and pkg-config file.
function(ulplab_install_library name)
  cmake_parse_arguments(ARG "" "SUMMARY;PC_REQUIRES;PC_LIBS" "" ${ARGN})
  set(target ulplab_${name})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.hpp)
  list(FILTER headers EXCLUDE REGEX "${ULPLAB_PRIVATE_HEADERS}")
  # Those that need Eigen stand apart: softfloat itself depends on nothing, so they are not verified alone.
  set(eigen_headers ${headers})
  list(FILTER eigen_headers INCLUDE REGEX "/softfloat/.*eigen\\.hpp$")
  list(FILTER headers EXCLUDE REGEX "/softfloat/.*eigen\\.hpp$")
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers}
    FILE_SET eigen TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${eigen_headers})
  # `cmake --build build/release --target all_verify_interface_header_sets` compiles each header alone.
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} VERIFY_INTERFACE_HEADER_SETS ON
    INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
  # Code in headers is compiled by the user: the options that decide bits go with it (cmake/UlplabTargets.cmake).
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} INTERFACE
    $<INSTALL_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>>)
  target_compile_definitions(${target} INTERFACE $<INSTALL_INTERFACE:EIGEN_FAST_MATH=0>)

  install(TARGETS ${target} EXPORT ulplab-${name}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
    FILE_SET HEADERS DESTINATION ${ULPLAB_INSTALL_INCLUDE} COMPONENT dev
    FILE_SET eigen DESTINATION ${ULPLAB_INSTALL_INCLUDE} COMPONENT dev)
  install(EXPORT ulplab-${name} NAMESPACE ulplab:: FILE ulplab-${name}.cmake
    DESTINATION ${ULPLAB_INSTALL_CMAKE} COMPONENT dev)

  set(PC_NAME ${name})
  set(PC_SUMMARY "${ARG_SUMMARY}")
  set(PC_REQUIRES "${ARG_PC_REQUIRES}")
  set(PC_LIBS "${ARG_PC_LIBS}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/ulplab.pc.in ${PROJECT_BINARY_DIR}/ulplab-${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/ulplab-${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()

# The part of the CMake package that all components share.
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ulplabConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ulplabConfig.cmake INSTALL_DESTINATION ${ULPLAB_INSTALL_CMAKE}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ulplabConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ulplabConfig.cmake ${PROJECT_BINARY_DIR}/ulplabConfigVersion.cmake
  DESTINATION ${ULPLAB_INSTALL_CMAKE} COMPONENT dev)

install(DIRECTORY docs/playground DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime
  PATTERN source EXCLUDE PATTERN build.sh EXCLUDE)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
# Debian wants the licence under this name.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT runtime)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libulplab-dev RENAME copyright COMPONENT dev)
