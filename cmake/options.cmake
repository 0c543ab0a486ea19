# Compiler options shared by all targets.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# -O3 takes 25% longer to compile the builder, which runs no faster.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${heapwood_BINARY_DIR}/bin)

option(BUILD_TESTING "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(HEAPWOOD_WERROR "Treat warnings as errors" OFF)
option(HEAPWOOD_PYTHON "Build the extension module of the Python package" OFF)
if(HEAPWOOD_PYTHON)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the module contains the libraries
endif()
option(HEAPWOOD_PROBES "A build kernel with a probe for every allocator (docs/measuring.md)" OFF)
set(HEAPWOOD_SANITIZE "" CACHE STRING "Sanitizers of all targets: 'thread' or 'address,undefined'")
option(HEAPWOOD_LIBFUZZER "Link the fuzz targets with clang's libFuzzer (preset fuzz)" OFF)

# The tree must be the same on CPU and GPU: fused multiply-add only where the source requests it.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
# The host compiler ignores nvcc's `#pragma unroll`.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wno-unknown-pragmas>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False positives for "text" + std::string: GCC bug 105651.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(HEAPWOOD_WERROR)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(HEAPWOOD_SANITIZE)
  # Without UBSan's checks of null pointers and object sizes: AddressSanitizer detects these errors
  # too, and the checks cost a third of the compile time.
  add_compile_options(-fsanitize=${HEAPWOOD_SANITIZE}
                      -fno-sanitize=null,object-size,pointer-overflow
                      -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HEAPWOOD_SANITIZE})
else()
  # The executable can be copied to other machines: it needs the C library only.
  add_link_options(-static-libstdc++ -static-libgcc)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()
# Parsing GoogleTest's header takes 2 s of a test's compile time. ccache keeps no object that was
# compiled with a precompiled header, so none is used with ccache.
set(precompile ON)
if(CCACHE AND NOT DEFINED ENV{CCACHE_DISABLE})
  set(precompile OFF)
endif()
option(HEAPWOOD_PRECOMPILE "Precompile GoogleTest's header for the tests" ${precompile})
