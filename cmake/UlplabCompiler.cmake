# The oldest compilers that ulplab is tested with: those of Debian 12.
set(ulplab_oldest_GNU 12)
set(ulplab_oldest_Clang 14)
set(oldest ${ulplab_oldest_${CMAKE_CXX_COMPILER_ID}})
if(oldest AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS oldest)
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} is version ${CMAKE_CXX_COMPILER_VERSION}, too old for ulplab; install g++ "
    "${ulplab_oldest_GNU} or clang ${ulplab_oldest_Clang} or newer, or name one with -DCMAKE_CXX_COMPILER=/path/to/g++.")
endif()
