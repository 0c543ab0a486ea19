# heapwood::heapwood: an interface target with the headers of include/heapwood/ and what they need.
# The same headers, with includes relative to the including file, serve this build tree, projects
# that add it as a subdirectory, and `cmake --install --component development`.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
find_package(Threads REQUIRED)

set(HEAPWOOD_HEADERS ${heapwood_BINARY_DIR}/library/include)
set(collect ${CMAKE_COMMAND} -DSOURCE=${heapwood_SOURCE_DIR} -DOUTPUT=${HEAPWOOD_HEADERS}/heapwood
            -P ${heapwood_SOURCE_DIR}/cmake/library_headers.cmake)
execute_process(COMMAND ${collect} COMMAND_ERROR_IS_FATAL ANY)
# Brought up to date at every build. A file is written only if it changes.
add_custom_target(heapwood_collect_headers COMMAND ${collect} COMMENT "Collecting library headers")

add_library(heapwood_user_headers INTERFACE)
add_library(heapwood::heapwood ALIAS heapwood_user_headers)
add_dependencies(heapwood_user_headers heapwood_collect_headers)
set_target_properties(heapwood_user_headers PROPERTIES EXPORT_NAME heapwood)
target_include_directories(heapwood_user_headers INTERFACE
                           $<BUILD_INTERFACE:${HEAPWOOD_HEADERS}>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(heapwood_user_headers INTERFACE cxx_std_17)
target_link_libraries(heapwood_user_headers INTERFACE Threads::Threads)

# A project that contains this one installs it only if it asks for that.
option(HEAPWOOD_INSTALL "Install the headers and programs" ${PROJECT_IS_TOP_LEVEL})
if(HEAPWOOD_INSTALL)
  set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/heapwood)
  install(DIRECTORY ${HEAPWOOD_HEADERS}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          COMPONENT development)
  install(TARGETS heapwood_user_headers EXPORT heapwood-targets COMPONENT development)
  install(EXPORT heapwood-targets NAMESPACE heapwood:: DESTINATION ${package_folder}
          COMPONENT development)
  configure_package_config_file(${heapwood_SOURCE_DIR}/cmake/heapwood-config.cmake.in
                                ${heapwood_BINARY_DIR}/library/heapwood-config.cmake
                                INSTALL_DESTINATION ${package_folder})
  write_basic_package_version_file(${heapwood_BINARY_DIR}/library/heapwood-config-version.cmake
                                   COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
  install(FILES ${heapwood_BINARY_DIR}/library/heapwood-config.cmake
                ${heapwood_BINARY_DIR}/library/heapwood-config-version.cmake
          DESTINATION ${package_folder} COMPONENT development)
endif()
