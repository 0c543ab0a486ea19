# Compiler options that every target shares.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")  # -O3 compiles the builder a quarter longer, and it runs no faster
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

option(BUILD_TESTING "Build the tests" ON)
option(HEAPWOOD_WERROR "Warnings are errors" OFF)
set(HEAPWOOD_SANITIZE "" CACHE STRING "Sanitizers for everything: 'thread' or 'address,undefined'")

# The tree must be the same on CPU and GPU: no fused multiply-add where the source does not say so.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
# `#pragma unroll` is nvcc's; the host compiler unrolls as it sees fit.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wno-unknown-pragmas>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)  # wrong about "text" + std::string: GCC bug 105651
endif()
if(HEAPWOOD_WERROR)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(HEAPWOOD_SANITIZE)
  # Null pointers and accesses beyond an object are left to AddressSanitizer, which stops at them too: checks of their own for
  # each access take a third of the compiler's time.
  add_compile_options(-fsanitize=${HEAPWOOD_SANITIZE} -fno-sanitize=null,object-size,pointer-overflow
                      -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HEAPWOOD_SANITIZE})
else()
  # One file that can be copied to any node: only the C library is needed there.
  add_link_options(-static-libstdc++ -static-libgcc)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()
