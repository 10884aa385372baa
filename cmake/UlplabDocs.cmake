# The target `docs`: Doxygen's pages of the public headers. Not part of a normal build, and no package of it.
find_program(ULPLAB_DOXYGEN doxygen)
if(NOT ULPLAB_DOXYGEN)
  add_custom_target(docs COMMAND ${CMAKE_COMMAND} -E echo "There is no doxygen; apt-get install doxygen, then configure again."
    COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
else()
  set(headers "")
  foreach(library softfloat engine gpu)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${library}/*.hpp)
    list(APPEND headers ${found})
  endforeach()
  list(FILTER headers EXCLUDE REGEX "${ULPLAB_PRIVATE_HEADERS}")
  list(JOIN headers " " ULPLAB_PUBLIC_HEADERS)
  configure_file(${PROJECT_SOURCE_DIR}/docs/reference/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile @ONLY)
  add_custom_target(docs COMMAND ${ULPLAB_DOXYGEN} ${PROJECT_BINARY_DIR}/Doxyfile
    COMMAND ${CMAKE_COMMAND} -E echo "Pages: ${PROJECT_BINARY_DIR}/docs/html/index.html"
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
endif()
