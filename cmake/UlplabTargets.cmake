# What every target of the project is compiled with. One place: the options decide the bits.
#
# -ffp-contract=off: a*b+c must not become a fused multiply-add behind the source's back (g++ does that by default).
# EIGEN_FAST_MATH=0: Eigen's vectorised square root is not correctly rounded otherwise.
add_library(ulplab_options INTERFACE)
target_compile_features(ulplab_options INTERFACE cxx_std_20)
target_compile_options(ulplab_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow;-Werror;-ffp-contract=off>)
# g++ 12 sees an overlap in every std::string concatenation (GCC bug 105651).
target_compile_options(ulplab_options INTERFACE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>)
# It spends 3 to 15 % of its time collecting memory: without that a source takes up to 0.3 GB more.
target_compile_options(ulplab_options INTERFACE
  "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:SHELL:--param ggc-min-heapsize=1000000>")
# With sanitizers it also sees uninitialised parts in <regex> (GCC bug 105562).
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize" AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(ulplab_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
endif()
target_compile_definitions(ulplab_options INTERFACE EIGEN_FAST_MATH=0)
if(ULPLAB_NATIVE)
  target_compile_options(ulplab_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=native>)
endif()

# Precompiled headers save about a quarter of the time to compile engine, experiments and their tests, which is a fifth of
# the whole. A compiler cache does without them: it would not find its entries again. Each source includes what it uses,
# which builds without them show (the preset debug, for one). g++ takes the optimisation from the precompiled headers: a
# source with options of its own needs SKIP_PRECOMPILE_HEADERS.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  # g++ 12 then also sees overflows in concatenations of std::string, as in bug 105651.
  target_compile_options(ulplab_options INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-stringop-overflow;-Wno-array-bounds>)
endif()
# The sources of a library, and of a test that asks for it, are compiled sixteen at a time where headers are precompiled,
# which takes half the time; eight at a time where speed counts, because g++ inlines less in a longer source. A compiler
# cache does without this too. Sources that give the same name to different things, and kernels, are named to
# ulplab_compile_alone(TARGET FILE...).
function(ulplab_unity)
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  foreach(target IN LISTS ARGN)
    set(batch 16)
    if(target MATCHES "^ulplab_(softfloat|engine)")
      set(batch 8)
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # which takes what such a source includes for a header
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
    endif()
  endforeach()
endfunction()
function(ulplab_compile_alone target)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
set(ULPLAB_STANDARD_HEADERS <algorithm> <array> <bit> <cmath> <filesystem> <functional> <map> <memory> <optional> <set>
  <span> <stdexcept> <string> <vector>)

# ulplab_sources(RESULT FOLDER... [EXCEPT FILE...]): the .cpp files of these folders of the present one, without those of folders
# inside. A new source is found by itself.
function(ulplab_sources result)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "EXCEPT")
  list(TRANSFORM ARG_UNPARSED_ARGUMENTS APPEND /*.cpp)
  file(GLOB sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${ARG_UNPARSED_ARGUMENTS})
  list(REMOVE_ITEM sources "" ${ARG_EXCEPT})
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# ulplab_library(NAME [PARTS NAME...] SOURCES ... LINK ...): the static library ulplab_NAME, also called ulplab::NAME.
# Headers are included from the root of the project ("softfloat/round.hpp").
function(ulplab_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PARTS" ${ARGN})
  list(TRANSFORM ARG_PARTS PREPEND ulplab_${name}_)
  list(TRANSFORM ARG_PARTS REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  add_library(ulplab_${name} STATIC ${ARG_SOURCES} ${objects})
  set_target_properties(ulplab_${name} PROPERTIES ULPLAB_PARTS "${ARG_PARTS}")
  add_library(ulplab::${name} ALIAS ulplab_${name})
  target_include_directories(ulplab_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(ulplab_${name} PUBLIC ${ARG_LINK} PRIVATE $<BUILD_INTERFACE:ulplab_options>)
  ulplab_unity(ulplab_${name})
endfunction()

# ulplab_part(LIBRARY NAME SOURCES ... LINK ...): the objects ulplab_LIBRARY_NAME, for PARTS of ulplab_library. A program
# that links them alone needs no other source of the library compiled.
function(ulplab_part library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(ulplab_${library}_${name} OBJECT ${ARG_SOURCES})
  target_include_directories(ulplab_${library}_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(ulplab_${library}_${name} PRIVATE ${ARG_LINK} ulplab_options)
  ulplab_unity(ulplab_${library}_${name})
endfunction()

# The processor's vector kits beside the portable one (softfloat/vector/), for which kernels are compiled.
set(ULPLAB_X86 OFF)
set(ULPLAB_KITS "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(ULPLAB_X86 ON)
  set(ULPLAB_KITS avx2 avx512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(ULPLAB_KITS neon)
endif()

# ulplab_kernels_of_kits(TARGET STEM... [OPTIONS OPTION...]): compiles the kernels STEM.cpp.in once for the portable kit and once
# for each of ULPLAB_KITS, there with these options too. The source names its kit @kit@ (avx2), @Kit@ (its type, Avx2) and
# @kit_name@ (in messages, AVX2). A portable table with kernels of its own is the file STEM_portable.cpp.
function(ulplab_kernels_of_kits target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "OPTIONS")
  foreach(stem IN LISTS ARG_UNPARSED_ARGUMENTS)
    foreach(kit IN ITEMS portable ${ULPLAB_KITS})
      string(SUBSTRING ${kit} 0 1 first)
      string(SUBSTRING ${kit} 1 -1 rest)
      string(TOUPPER ${first} first)
      set(Kit ${first}${rest})
      set(kit_name ${kit})
      if(NOT kit STREQUAL portable)
        string(TOUPPER ${kit} kit_name)
        string(REPLACE AVX512 AVX-512 kit_name ${kit_name})
      endif()
      set(source ${CMAKE_CURRENT_SOURCE_DIR}/${stem}_${kit}.cpp)
      if(NOT EXISTS ${source})
        set(source ${CMAKE_CURRENT_BINARY_DIR}/${stem}_${kit}.cpp)
        configure_file(${stem}.cpp.in ${source} @ONLY)
      endif()
      target_sources(${target} PRIVATE ${source})
      ulplab_simd_source(${source} ${kit} ${target})
      if(NOT kit STREQUAL portable)
        set_property(SOURCE ${source} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS ${ARG_OPTIONS})
      endif()
    endforeach()
  endforeach()
endfunction()

# ulplab_simd_source(FILE <portable|avx2|avx512|avx512_vnni|avx512_fp16|neon> [TARGET]): compiles FILE, a source of a target of this folder or of
# TARGET, for these instructions (the sets of softfloat/vector/simd_choice.hpp). Where the flags do not exist the file must
# be left out of the target: ULPLAB_KITS are the kits that exist, and ULPLAB_X86 says whether avx512_vnni and avx512_fp16 do.
function(ulplab_simd_source file simd)
  set(flags)
  if(simd MATCHES "^avx")
    set(flags -mavx2 -mfma -mf16c)
  endif()
  if(simd MATCHES "^avx512")
    # clang and g++ otherwise prefer 256-bit registers where they vectorise by themselves.
    list(APPEND flags -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
    # g++ 12 warns of its own intrinsics (GCC bug 105593).
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      list(APPEND flags -Wno-uninitialized -Wno-maybe-uninitialized)
    endif()
  endif()
  if(simd MATCHES "^avx512_(vnni|fp16)$")
    list(APPEND flags -mavx512${CMAKE_MATCH_1})
  endif()
  set(where)
  if(ARGC GREATER 2)
    set(where TARGET_DIRECTORY ${ARGV2})
  endif()
  set_source_files_properties(${file} ${where} PROPERTIES COMPILE_OPTIONS "${flags}" SKIP_PRECOMPILE_HEADERS ON
    SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# ulplab_test(NAME LABEL <fast|replay|exhaustive|gpu> SOURCES ... LINK ...): the doctest program test_NAME. Each of its
# test cases becomes a ctest test "NAME: case" with the label. A case that prints "skipped: no ..." counts as skipped.
# A case's name holds no semicolon, at which the name would be cut; a ctest test that finds no case fails.
# Where several tests run at once, those with a long time limit start first, so that none is left to run alone.
function(ulplab_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  add_executable(test_${name} ${ARG_SOURCES})
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(test_${name} PRIVATE ulplab_test_main ${ARG_LINK} ulplab_options)
  target_compile_options(test_${name} PRIVATE ${ULPLAB_TEST_OPTIMISATION})
  if("${ARG_LINK}" MATCHES "ulplab::engine_fp64")
    # Precompiled headers are those of the other mode.
  elseif("${ARG_LINK}" MATCHES "ulplab::(engine|gpu|experiments)")
    target_precompile_headers(test_${name} REUSE_FROM ulplab_engine_test_headers)
  else()
    target_precompile_headers(test_${name} REUSE_FROM ulplab_test_main)
  endif()
  doctest_discover_tests(test_${name} TEST_PREFIX "${name}: "
    PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT} COST ${ARG_TIMEOUT} SKIP_REGULAR_EXPRESSION "skipped: no "
      FAIL_REGULAR_EXPRESSION "test cases: +0 ")
endfunction()
