# heapwood-view, if GLFW, Dear ImGui and epoxy are installed (scripts/setup.sh viewer); else one
# line names the missing packages.
set(HEAPWOOD_VIEWER_MODE auto
    CACHE STRING "Build the viewer: auto (if its libraries are installed), off")
set(HEAPWOOD_VIEWER OFF)
if(HEAPWOOD_VIEWER_MODE STREQUAL "off")
  message(STATUS "Viewer: not built (HEAPWOOD_VIEWER_MODE is off)")
  return()
endif()
find_package(PkgConfig QUIET)
set(missing "")
if(PkgConfig_FOUND)
  foreach(package glfw3:libglfw3-dev imgui:libimgui-dev epoxy:libepoxy-dev)
    string(REPLACE ":" ";" pair ${package})
    list(GET pair 0 module)
    list(GET pair 1 debian)
    pkg_check_modules(VIEWER_${module} QUIET IMPORTED_TARGET ${module})
    if(NOT VIEWER_${module}_FOUND)
      list(APPEND missing ${debian})
    endif()
  endforeach()
else()
  set(missing pkg-config)
endif()
if(missing)
  list(JOIN missing " " missing)
  message(STATUS "Viewer: not built, missing: ${missing} (make view installs them)")
  return()
endif()
set(HEAPWOOD_VIEWER ON)
message(STATUS "Viewer: built with GLFW ${VIEWER_glfw3_VERSION}, "
               "Dear ImGui ${VIEWER_imgui_VERSION}")

# Shaders are embedded in the program: each becomes a string in viewer_shaders.hpp.
set(declarations "")
file(GLOB shaders CONFIGURE_DEPENDS ${heapwood_SOURCE_DIR}/shaders/*.glsl)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${shaders})
foreach(shader IN LISTS shaders)
  get_filename_component(name ${shader} NAME_WE)
  file(READ ${shader} text)
  string(APPEND declarations "inline constexpr const char* ${name} = R\"glsl(${text})glsl\";\n")
endforeach()
set(generated ${heapwood_BINARY_DIR}/generated/viewer)
file(CONFIGURE OUTPUT ${generated}/viewer_shaders.hpp
     CONTENT "#pragma once\nnamespace heapwood::viewer::shaders {\n@declarations@}\n" @ONLY)

# The viewer is the library `viewer` linked with a registry of allocators, as the command line is.
heapwood_library(viewer heapwood_bench PkgConfig::VIEWER_glfw3 PkgConfig::VIEWER_imgui
                 PkgConfig::VIEWER_epoxy)
target_include_directories(heapwood_viewer PRIVATE ${generated})
# As for bench and app. Two unity sources, one per core.
target_compile_options(heapwood_viewer PRIVATE -O1)
set_target_properties(heapwood_viewer PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 20)
add_executable(heapwood-view viewer/main/main.cpp)
target_link_libraries(heapwood-view PRIVATE heapwood_viewer heapwood_allocators)
