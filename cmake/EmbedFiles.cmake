# embed_files(OUTPUT.cpp FILE...): a source that defines ulp::embedded_plots (experiments/framework/embedded.hpp) with
# the files' contents, so that the programs need no path to plots/. Written again at configure time when one changes.
function(embed_files output)
  set(rows "")
  foreach(file IN LISTS ARGN)
    file(READ ${file} content)
    get_filename_component(name ${file} NAME)
    string(APPEND rows "    {\"${name}\", R\"__file__(${content})__file__\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  file(CONFIGURE OUTPUT ${output} CONTENT [[
// Generated from plots/ by cmake/EmbedFiles.cmake.
#include "experiments/framework/embedded.hpp"

namespace ulp {
namespace {
constexpr EmbeddedFile files[] = {
@rows@};
}  // namespace
const std::span<const EmbeddedFile> embedded_plots(files);
}  // namespace ulp
]] @ONLY)
endfunction()
