# Debian packages: `cpack -G DEB` in the build folder writes ulplab (the program), libulplab0.2 (the shared
# libraries; the number is that of their interface), libulplab-dev (headers and static libraries) and, where it was built,
# python3-ulplab (the Python package).
set(CPACK_PACKAGE_NAME ulplab)
set(CPACK_PACKAGE_VENDOR "The ulplab authors")
set(ULPLAB_PACKAGE_CONTACT "The ulplab authors <root@localhost>" CACHE STRING
  "Maintainer of the Debian packages, who builds them: NAME <ADDRESS>")
set(CPACK_PACKAGE_CONTACT ${ULPLAB_PACKAGE_CONTACT})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL runtime shared dev)
if(ULPLAB_HAS_PYTHON)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/CompressManual.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE gzip)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ulplab)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS gnuplot-nox)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Number formats, matrix units of GPUs and a trainer, all bit for bit as the
hardware computes, on any processor. This package holds the program ulplab with
its manual pages.")
set(ulplab_shared_package libulplab${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_DEBIAN_SHARED_PACKAGE_NAME ${ulplab_shared_package})
set(CPACK_DEBIAN_SHARED_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_SHARED_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_SHARED_DESCRIPTION "The shared libraries softfloat and engine of ulplab.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libulplab-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  "${ulplab_shared_package} (= ${PROJECT_VERSION}), libeigen3-dev, libfmt-dev, nlohmann-json3-dev, zlib1g-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "The libraries softfloat and engine of ulplab with their headers, and files for
CMake's find_package and pkg-config.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-ulplab)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS ${ULPLAB_PYTHON_DEPENDS})
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-matplotlib")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "The Python package ulplab: number formats and matrix units of GPUs for NumPy and
PyTorch, bit for bit as the hardware computes.")
include(CPack)
