# `cmake --install` and `cpack`: the programs and the licence, beside the headers of
# library.cmake. `make package` builds the packages.
if(NOT HEAPWOOD_INSTALL)
  return()
endif()
install(TARGETS heapwood RUNTIME COMPONENT program)
if(HEAPWOOD_VIEWER)
  install(TARGETS heapwood-view RUNTIME COMPONENT program)
endif()
install(FILES ${heapwood_SOURCE_DIR}/LICENSE ${heapwood_SOURCE_DIR}/README.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)

set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_PACKAGE_NAME heapwood)
set(CPACK_PACKAGE_CONTACT "The Heapwood developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
    "GPU memory allocators: a library, and programs to compare them")
set(CPACK_RESOURCE_FILE_LICENSE ${heapwood_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# States the version of the C library that the programs need, which is that of the build machine.
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(DPKG_SHLIBDEPS)
if(DPKG_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libcu++-dev, nvidia-cuda-toolkit")
include(CPack)
