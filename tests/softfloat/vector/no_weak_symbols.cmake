# Fails if an object file for AVX2 or AVX-512 defines a weak function or variable: an inline function or template that the
# linker could take for the whole program. NM is the program nm, OBJECTS a list of object files.
#
# Eigen's units are left out: their weak symbols are in a namespace of each unit's own
# (engine/kernels/eigen_product.ipp).
list(FILTER OBJECTS INCLUDE REGEX "_avx[0-9]")
list(FILTER OBJECTS EXCLUDE REGEX "eigen_product")
if(NOT OBJECTS)
  message(FATAL_ERROR "no object files for AVX2 or AVX-512 among those given")
endif()
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND ${NM} -C --defined-only ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]* [Wu] [^\n]*" weak "${symbols}")
  # Constant data without code: whichever unit it is linked from, it is the same.
  list(FILTER weak EXCLUDE REGEX " u ulp::support::probe$")
  if(weak)
    message(SEND_ERROR "${object} defines weak symbols: ${weak}")
  endif()
endforeach()
