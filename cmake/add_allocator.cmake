# heapwood_add_allocator(HEADER TYPE): an allocator of another project, in Heapwood's programs.
# HEADER defines heapwood::alloc::TYPE. Creates
#   heapwood-with-TYPE            the command line, with this allocator after Heapwood's own
#   heapwood-with-TYPE-tests      the conformance suite of this allocator, registered with ctest
# For projects that contain this one with HEAPWOOD_PROGRAM=ON. HEAPWOOD_ALLOCATORS limits the other
# allocators, which take most of the time to compile.
function(heapwood_add_allocator header type)
  if(NOT TARGET heapwood_app)
    message(FATAL_ERROR "heapwood_add_allocator: set HEAPWOOD_PROGRAM to ON before Heapwood is "
                        "added: an installed copy has no sources of the programs")
  endif()
  get_filename_component(HEAPWOOD_OUTSIDE_HEADER ${header} ABSOLUTE)
  if(NOT EXISTS ${HEAPWOOD_OUTSIDE_HEADER})
    message(FATAL_ERROR "heapwood_add_allocator: no such file: ${HEAPWOOD_OUTSIDE_HEADER}")
  endif()
  set(HEAPWOOD_OUTSIDE_TYPE ${type})
  add_subdirectory(${heapwood_SOURCE_DIR}/cmake/outside
                   ${CMAKE_CURRENT_BINARY_DIR}/heapwood-with-${type})
endfunction()
