# At install time: writes the headers ${ulplab_headers} of ${ulplab_source} below ${ulplab_destination} of the prefix, where
# their includes of each other read as a user's do: "engine/..." becomes <ulplab/engine/...>.
foreach(header IN LISTS ulplab_headers)
  file(READ "${ulplab_source}/${header}" text)
  string(REGEX REPLACE "#include \"((softfloat|engine|gpu)/[^\"]*)\"" "#include <ulplab/\\1>" text "${text}")
  # The header of everything stands beside the libraries' folders.
  string(REGEX REPLACE "^engine/(ulplab.hpp)$" "\\1" header ${header})
  set(file "${CMAKE_INSTALL_PREFIX}/${ulplab_destination}/${header}")
  file(WRITE "$ENV{DESTDIR}${file}" "${text}")
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${file}")
endforeach()
