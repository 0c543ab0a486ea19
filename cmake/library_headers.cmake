# Collects the headers for other programs:
#   cmake -DSOURCE=ROOT -DOUTPUT=FOLDER/heapwood -P library_headers.cmake
# They are those of include/heapwood/, the allocators of alloc/registry.def, and what these include.
# In this tree an include starts at the root ("alloc/allocator.hpp"), which would collide with a
# user's own folders. In OUTPUT it is relative to the including file, which every compiler looks at
# first, so FOLDER is the only search path that a user needs. Includes of the C++ library's headers
# are left out under NVRTC, which has none of them (simt/config.hpp). Nothing else is changed.
cmake_policy(VERSION 3.25)

# file(GLOB) takes a path as a pattern: a folder may be named [x].
string(REGEX REPLACE "([[*?])" "[\\1]" source_pattern "${SOURCE}")
string(REGEX REPLACE "([[*?])" "[\\1]" output_pattern "${OUTPUT}")

set(pending "")
file(GLOB public RELATIVE "${SOURCE}/include" "${source_pattern}/include/heapwood/*.hpp")
if(NOT public)
  message(FATAL_ERROR "no headers in ${SOURCE}/include/heapwood")
endif()
list(APPEND pending ${public})
file(STRINGS "${SOURCE}/alloc/registry.def" lines REGEX "^[a-z]")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^([a-z0-9_]+) .*" "alloc/allocators/\\1.hpp" header "${line}")
  list(APPEND pending ${header})
endforeach()

set(collected "")
while(pending)
  list(POP_FRONT pending header)
  # `header` as it is included; `place` is the file's path in OUTPUT.
  string(REGEX REPLACE "^heapwood/" "" place ${header})
  if(place IN_LIST collected)
    continue()
  endif()
  list(APPEND collected ${place})
  set(from "${SOURCE}/${header}")
  if(header MATCHES "^heapwood/")
    set(from "${SOURCE}/include/${header}")
  endif()
  file(READ "${from}" text)
  get_filename_component(folder "${OUTPUT}/${place}" DIRECTORY)
  string(REGEX MATCHALL "#include \"[^\"\n]+\"" includes "${text}")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "#include \"(.*)\"" "\\1" name "${include}")
    list(APPEND pending ${name})
    string(REGEX REPLACE "^heapwood/" "" name ${name})
    file(RELATIVE_PATH relative "${folder}" "${OUTPUT}/${name}")
    string(REPLACE "${include}" "#include \"${relative}\"" text "${text}")
  endforeach()
  string(REGEX REPLACE "\n((#include <[a-z_]+>\n)+)" "\n#if !defined(__CUDACC_RTC__)\n\\1#endif\n"
         text "${text}")
  set(present "")
  if(EXISTS "${OUTPUT}/${place}")
    file(READ "${OUTPUT}/${place}" present)
  endif()
  if(NOT text STREQUAL present)
    file(WRITE "${OUTPUT}/${place}" "${text}")
  endif()
endwhile()

file(GLOB_RECURSE present RELATIVE "${OUTPUT}" "${output_pattern}/*")
list(REMOVE_ITEM present ${collected})
foreach(place IN LISTS present)
  file(REMOVE "${OUTPUT}/${place}")
endforeach()
