# Enables CUDA if a compiler is found. Sets HEAPWOOD_CUDA and reports the decision with its reason.
set(HEAPWOOD_CUDA_MODE auto CACHE STRING "Build the CUDA part: auto (if nvcc is found), on, off")
option(HEAPWOOD_FAST_COMPILE
       "Compile CUDA code quickly, to check that it compiles; it runs slowly" OFF)
set(HEAPWOOD_CUDA OFF)

if(NOT HEAPWOOD_CUDA_MODE STREQUAL "off")
  # Searches where scripts/fetch_nvcc.sh and NVIDIA's installer place nvcc.
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(HEAPWOOD_NVCC nvcc
                 HINTS ${heapwood_SOURCE_DIR}/build/nvcc/bin PATHS /usr/local/cuda/bin)
    if(HEAPWOOD_NVCC)
      set(ENV{CUDACXX} ${HEAPWOOD_NVCC})
    endif()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(HEAPWOOD_CUDA ON)
  elseif(HEAPWOOD_CUDA_MODE STREQUAL "on")
    message(FATAL_ERROR "CUDA: no compiler found; run scripts/fetch_nvcc.sh, or set "
                        "CMAKE_CUDA_COMPILER to your nvcc")
  endif()
endif()

if(HEAPWOOD_CUDA)
  # For the GPUs of this machine. Without one, a Python package has only PTX, which the driver
  # compiles for any GPU, as it may be used elsewhere; programs are for Hopper, with PTX for later
  # GPUs.
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                    OUTPUT_VARIABLE capabilities ERROR_QUIET RESULT_VARIABLE failed)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]+" capabilities "${capabilities}")
    list(REMOVE_DUPLICATES capabilities)
    list(TRANSFORM capabilities REPLACE "\\." "")
    if((failed OR NOT capabilities) AND SKBUILD)
      set(capabilities 75-virtual)
    elseif(failed OR NOT capabilities)
      set(capabilities 90)
    endif()
    set(CMAKE_CUDA_ARCHITECTURES ${capabilities} CACHE STRING "GPU architectures")
  endif()
  enable_language(CUDA)
  # CMake 3.25 does not support C++20 with CUDA 13: the option is passed directly.
  if("cuda_std_20" IN_LIST CMAKE_CUDA_COMPILE_FEATURES)
    set(CMAKE_CUDA_STANDARD 20)
  else()
    set(CMAKE_CUDA_STANDARD_REQUIRED OFF)
    add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
  endif()
  add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
  # Host code only launches kernels: -O3 doubles its compile time, and nvcc has no -Og.
  string(REPLACE "-O3" "-Xcompiler=-Og" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
  if(HEAPWOOD_WERROR)
    add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>
                        $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall>)
  endif()
  # The option for kernels that are not timed, with which they compile three times as fast. With
  # `max` nvcc inlines no function, which makes recorded builds about 20 times slower.
  set(HEAPWOOD_UNTIMED "")
  set(how "")
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.0)
    if(HEAPWOOD_FAST_COMPILE)
      add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:--Ofast-compile=max>)
      set(how ", with --Ofast-compile=max: not for measuring")
    else()
      set(HEAPWOOD_UNTIMED --Ofast-compile=mid)
    endif()
  endif()
  list(JOIN CMAKE_CUDA_ARCHITECTURES ", sm_" names)
  string(REPLACE "sm_all" "all" names "sm_${names}")
  string(REPLACE "sm_75-virtual" "every GPU, as PTX" names "${names}")
  message(STATUS "CUDA: compiled by nvcc ${CMAKE_CUDA_COMPILER_VERSION} for ${names}${how}")
elseif(HEAPWOOD_CUDA_MODE STREQUAL "off")
  message(STATUS "CUDA: not built (HEAPWOOD_CUDA_MODE is off)")
else()
  message(STATUS "CUDA: not built (no nvcc found)")
endif()
