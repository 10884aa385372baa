# Installation in three parts: `runtime` is the program with its manual, `shared` the shared libraries, `dev` the headers,
# the static libraries, a CMake package (cmake/ulplabConfig.cmake.in) and pkg-config files.
#
# A user includes <ulplab/softfloat/text.hpp>, or all with <ulplab/ulplab.hpp>. So that the prefix's include folder alone
# must be on the path, and the common words softfloat, engine and gpu are claimed for no one in /usr/include, installed
# headers include each other by these names too (cmake/InstallHeaders.cmake).
#
# Debian keeps libraries in the folder of their architecture, below /usr and /usr/local.
if(EXISTS /etc/debian_version AND CMAKE_LIBRARY_ARCHITECTURE)
  set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE} CACHE PATH "Folder for libraries, below the prefix")
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(ULPLAB_INSTALL_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/ulplab)

# From the folder of the pkg-config files up to the prefix, so that they hold in whatever folder the tree is put.
file(RELATIVE_PATH ULPLAB_PC_UP /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)

# Not for users: the kernels, and what only they need. Their declarations have hidden visibility.
set(ULPLAB_PRIVATE_HEADERS
  "/(kernels|gemm_kernels)/|/array/(make_plan|stages)\\.hpp$|/vector/(float_mode|two_sum|vec_)[a-z0-9_]*\\.hpp$|^gpu/(devices/cuda_check|library/cublas_lt)\\.hpp$|^engine/(products/unit_fields\\.hpp$|python/)")

# ulplab_shared_library(NAME): the shared library ulplab_NAME_shared, from the objects of the static one. It exports the
# public names of namespace ulp alone (cmake/exports.map).
function(ulplab_shared_library name)
  set(static ulplab_${name})
  set(shared ulplab_${name}_shared)
  get_target_property(parts ${static} ULPLAB_PARTS)
  set(objects "")
  foreach(target IN LISTS static parts)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    # Nobody replaces single functions of the library from outside: calls within it may be inlined.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)
    list(APPEND objects $<TARGET_OBJECTS:${target}>)
  endforeach()
  add_library(${shared} SHARED ${objects})
  set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  set_target_properties(${shared} PROPERTIES OUTPUT_NAME ${static} LINKER_LANGUAGE CXX LINK_DEPENDS ${exports}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} INSTALL_RPATH "$ORIGIN")
  target_link_options(${shared} PRIVATE LINKER:--version-script=${exports} LINKER:-Bsymbolic-functions)
  # What its headers include is linked publicly; the rest is its own.
  get_target_property(libraries ${static} INTERFACE_LINK_LIBRARIES)
  foreach(library IN LISTS libraries)
    if(library MATCHES "^ulplab::(.*)$")
      target_link_libraries(${shared} PUBLIC ulplab_${CMAKE_MATCH_1}_shared)
    elseif(library MATCHES "^(Eigen3|OpenMP)::")
      target_link_libraries(${shared} PUBLIC ${library})
    elseif(library MATCHES "::")
      target_link_libraries(${shared} PRIVATE ${library})
    endif()
  endforeach()
endfunction()

# ulplab_install_pc(NAME LIBRARY SUMMARY REQUIRES LIBS [CFLAGS]): the pkg-config file ulplab-NAME.pc.
function(ulplab_install_pc PC_NAME PC_LIBRARY PC_SUMMARY PC_REQUIRES PC_LIBS)
  set(PC_CFLAGS ${ARGN})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/ulplab.pc.in ${PROJECT_BINARY_DIR}/ulplab-${PC_NAME}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/ulplab-${PC_NAME}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()

# ulplab_install_library(NAME SUMMARY TEXT [PC_REQUIRES TEXT] [PC_LIBS TEXT] [SHARED] [PC_SHARED_REQUIRES TEXT] [ALSO
# NAME2]): installs ulplab_NAME, the public headers of the folder NAME, and NAME's CMake targets and pkg-config file; with
# SHARED the shared library beside it, ulplab::NAME_shared and ulplab-NAME-shared; with ALSO the static library NAME2.
function(ulplab_install_library name)
  cmake_parse_arguments(ARG "SHARED" "SUMMARY;PC_REQUIRES;PC_LIBS;PC_SHARED_REQUIRES;ALSO" "" ${ARGN})
  set(target ulplab_${name})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
    ${PROJECT_SOURCE_DIR}/${name}/*.hpp ${PROJECT_SOURCE_DIR}/${name}/*.h)
  list(FILTER headers EXCLUDE REGEX "${ULPLAB_PRIVATE_HEADERS}")
  install(CODE "
    set(ulplab_source \"${PROJECT_SOURCE_DIR}\")
    set(ulplab_headers \"${headers}\")
    set(ulplab_destination \"${CMAKE_INSTALL_INCLUDEDIR}/ulplab\")
    include(\"${PROJECT_SOURCE_DIR}/cmake/InstallHeaders.cmake\")" COMPONENT dev)

  # `cmake --build build/release --target all_verify_interface_header_sets` compiles each header alone, but for those of
  # softfloat that need Eigen: softfloat itself depends on nothing.
  list(FILTER headers EXCLUDE REGEX "^softfloat/.*eigen\\.hpp$")
  list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/)
  add_library(${target}_headers INTERFACE)
  target_link_libraries(${target}_headers INTERFACE ${target})
  target_sources(${target}_headers INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  set_target_properties(${target}_headers PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)

  set(targets ${target})
  if(ARG_SHARED)
    ulplab_shared_library(${name})
    list(APPEND targets ${target}_shared)
    ulplab_install_pc(${name}-shared -lulplab_${name} "${ARG_SUMMARY} (shared library)" "${ARG_PC_SHARED_REQUIRES}" "")
  endif()
  if(ARG_ALSO)
    list(APPEND targets ulplab_${ARG_ALSO})
  endif()
  # By file name: -l would find the shared library first.
  ulplab_install_pc(${name} -l:libulplab_${name}.a "${ARG_SUMMARY}" "${ARG_PC_REQUIRES}" "${ARG_PC_LIBS}")
  foreach(library IN LISTS targets)
    string(REPLACE ulplab_ "" exported ${library})
    set_target_properties(${library} PROPERTIES EXPORT_NAME ${exported})
    target_include_directories(${library} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    # Code in headers is compiled by the user: the options that decide bits go with it (cmake/UlplabTargets.cmake).
    target_compile_features(${library} PUBLIC cxx_std_20)
    target_compile_options(${library} INTERFACE
      $<INSTALL_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>>)
    target_compile_definitions(${library} INTERFACE $<INSTALL_INTERFACE:EIGEN_FAST_MATH=0>)
  endforeach()

  install(TARGETS ${targets} EXPORT ulplab-${name}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT shared NAMELINK_COMPONENT dev)
  install(EXPORT ulplab-${name} NAMESPACE ulplab:: FILE ulplab-${name}.cmake
    DESTINATION ${ULPLAB_INSTALL_CMAKE} COMPONENT dev)
endfunction()

# The part of the CMake package that all components share.
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ulplabConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ulplabConfig.cmake INSTALL_DESTINATION ${ULPLAB_INSTALL_CMAKE}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ulplabConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ulplabConfig.cmake ${PROJECT_BINARY_DIR}/ulplabConfigVersion.cmake
  DESTINATION ${ULPLAB_INSTALL_CMAKE} COMPONENT dev)

# README.md with what it links to, at the same places beside it.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime
  PATTERN playground/source EXCLUDE PATTERN build.sh EXCLUDE)
install(FILES cmake/packages.txt cmake/optional_packages.txt cmake/python_packages.txt DESTINATION ${CMAKE_INSTALL_DOCDIR}/cmake COMPONENT runtime)
install(FILES experiments/train_digits.cpp DESTINATION ${CMAKE_INSTALL_DOCDIR}/experiments COMPONENT runtime)
install(DIRECTORY tests/install/consumer DESTINATION ${CMAKE_INSTALL_DOCDIR}/tests/install COMPONENT runtime)
# Debian wants the licence under this name.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT runtime)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libulplab-dev RENAME copyright COMPONENT dev)
