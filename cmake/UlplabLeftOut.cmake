# What this configuration does without, and why: run.sh and check.sh print the file left_out.txt of the build folder at
# their end.
#
# ulplab_left_out(TEXT): says it while configuring, and notes it.
function(ulplab_left_out text)
  message(STATUS "Left out: ${text}")
  set_property(GLOBAL APPEND PROPERTY ULPLAB_LEFT_OUT "${text}")
endfunction()

function(ulplab_write_left_out)
  get_property(texts GLOBAL PROPERTY ULPLAB_LEFT_OUT)
  list(JOIN texts "\n" lines)
  file(WRITE ${PROJECT_BINARY_DIR}/left_out.txt "${lines}\n")
endfunction()
