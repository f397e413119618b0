# SPDX-License-Identifier: Apache-2.0
# How every target of the project is compiled: lens_options, linked privately.
include(GNUInstallDirs)

add_library(lens_options INTERFACE)
target_compile_features(lens_options INTERFACE cxx_std_20)
target_compile_options(lens_options INTERFACE -Wall -Wextra -Wpedantic -fvisibility=hidden -fvisibility-inlines-hidden)
target_include_directories(lens_options INTERFACE ${PROJECT_SOURCE_DIR})
if(LENS_DEVELOP)
  target_compile_options(lens_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # It sees overlapping copies in any "text" + string, where there are none (GCC bug 105651).
  target_compile_options(lens_options INTERFACE -Wno-restrict)
endif()

if(LENS_SANITIZE)
  add_compile_options(-fsanitize=${LENS_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LENS_SANITIZE})
  if(LENS_SANITIZE MATCHES undefined AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 takes the address of a thread-local variable for null in inlined code; a real null pointer still faults.
    add_compile_options(-fno-sanitize=null)
  endif()
  if(LENS_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC warns that the sanitizer does not see fences. Ours order words between processes, which it does not watch.
    add_compile_options(-Wno-tsan)
  endif()
endif()
if(LENS_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_program(CCACHE ccache)
if(CCACHE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# A test program of one folder: every *_test.cc below it, one ctest entry per test case.
function(lens_add_tests name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE lens_options ${arg_LIBRARIES} GTest::gtest_main GTest::gmock)
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST)
endfunction()
