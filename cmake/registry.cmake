# Generates registries of allocators from registry.def files. A line is `header Type [word...]`: the
# header is allocators/header.hpp next to the file and may define several types. Words:
#   own_kernels  on CPU threads the kernels of builds contain this allocator, as all kernels on GPUs
#                do; others are called through function pointers (alloc/erased.hpp), which compiles
#                in a tenth of the time
#   cpu          not in GPU builds
#   device_heap  blocks come from CUDA's heap, whose size is fixed when a kernel that calls it is
#                loaded: the kernels that record builds are this allocator's own
#   published    only with HEAPWOOD_PUBLISHED
# Each line becomes a few translation units per kind of device (registry/*.in), compiled once for
# all registries that contain it.
set(HEAPWOOD_ALLOCATORS "" CACHE STRING
    "Only these of alloc/registry.def, by id or header: 'atomic;ouroboros_p_va'. Empty: all")
# Other registries, such as the tests', are always complete.
option(HEAPWOOD_PUBLISHED "Also the allocators marked 'published' in alloc/registry.def" OFF)

option(HEAPWOOD_BUILDS_ONLY "Allocators only build trees; there is no command line" OFF)
if(HEAPWOOD_BUILDS_ONLY)
  add_compile_definitions(HEAPWOOD_BUILDS_ONLY)
endif()

# Whether HEAPWOOD_ALLOCATORS names an allocator by its id, with - or _, or by its header, if that
# has no allocator's name: `ouroboros`, but not `atomic`, selects all that are not published forms.
function(heapwood_is_listed header type published result)
  file(READ ${header} text)
  get_filename_component(name ${header} NAME_WE)
  string(REPLACE "_" "-" name "${name}")
  set(names ${name})
  if(text MATCHES "(struct|class) ${type}[ :{\n][^\"]*[.]id = \"([^\"]+)\"")
    set(names ${CMAKE_MATCH_2})
  endif()
  # A family of allocators, whose header has no allocator's name.
  if(NOT published AND NOT text MATCHES "[.]id = \"${name}\"")
    list(APPEND names ${name})
  endif()
  set(${result} OFF PARENT_SCOPE)
  foreach(listed IN LISTS HEAPWOOD_ALLOCATORS)
    string(REPLACE "_" "-" listed "${listed}")
    if(listed IN_LIST names)
      set(${result} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# heapwood_registry_types(FILE VARIABLE): the types of the lines of FILE that this build contains.
# Sets path_TYPE and words_TYPE for each.
function(heapwood_registry_types file variable)
  set_property(DIRECTORY ${heapwood_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  get_filename_component(folder ${file} DIRECTORY)
  string(COMPARE EQUAL ${file} ${heapwood_SOURCE_DIR}/alloc/registry.def is_main)
  set(types "")
  file(STRINGS ${file} lines REGEX "^[a-z]")
  foreach(line IN LISTS lines)
    separate_arguments(words UNIX_COMMAND "${line}")
    list(POP_FRONT words header type)
    set(path ${folder}/allocators/${header}.hpp)
    set(published OFF)
    set(included ON)
    if("published" IN_LIST words)
      set(published ON)
      set(included ${HEAPWOOD_PUBLISHED})
    elseif(is_main AND HEAPWOOD_ALLOCATORS)
      set(included OFF)
    endif()
    if(NOT included)
      heapwood_is_listed(${path} ${type} ${published} included)
    endif()
    if(included)
      list(APPEND types ${type})
      set(path_${type} ${path} PARENT_SCOPE)
      set(words_${type} "${words}" PARENT_SCOPE)
    endif()
  endforeach()
  set(${variable} "${types}" PARENT_SCOPE)
endfunction()

# heapwood_batches(PREFIX SUFFIX VARIABLE TYPES...): writes .cu files that include TYPE_SUFFIX.hpp
# for a few of TYPES each, and lists them in VARIABLE. On a few cores there are four per file, since
# half of the compile time of one is that of the headers they share.
function(heapwood_batches prefix suffix variable)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  set(count 1)
  if(cores LESS 4)
    set(count 4)
  elseif(cores LESS 8)
    set(count 2)
  endif()
  set(sources "")
  while(ARGN)
    list(SUBLIST ARGN 0 ${count} batch)
    list(REMOVE_ITEM ARGN ${batch})
    list(JOIN batch "_" name)
    list(TRANSFORM batch REPLACE "(.+)" "#include \"\\1_${suffix}.hpp\"\n")
    list(JOIN batch "" text)
    file(CONFIGURE OUTPUT ${prefix}${name}.cu CONTENT "${text}" @ONLY)
    list(APPEND sources ${prefix}${name}.cu)
  endwhile()
  set(${variable} "${sources}" PARENT_SCOPE)
endfunction()

# heapwood_recorded(SOURCE TYPES...): writes a .cu file that records builds with these allocators.
# heapwood_registry_types() has set path_TYPE and words_TYPE of each.
function(heapwood_recorded source)
  set(includes "")
  set(functions "")
  set(in_pool "")
  foreach(type IN LISTS ARGN)
    set(kernels "InPool")
    if("device_heap" IN_LIST words_${type})
      set(kernels "alloc::OneOf<alloc::${type}>")
    else()
      list(APPEND in_pool alloc::${type})
    endif()
    string(APPEND includes "#include \"${path_${type}}\"\n")
    string(APPEND functions
           "kdtree::RecordedRun build_recorded_${type}(kdtree::Workspace& workspace,\n"
           "    const kdtree::BuildOptions& options, std::size_t capacity) {\n"
           "  return build_recorded<alloc::${type}, ${kernels}>(workspace, options, capacity);\n"
           "}\n")
  endforeach()
  list(JOIN in_pool ", " in_pool)
  configure_file(${heapwood_SOURCE_DIR}/registry/recorded.in ${source} @ONLY)
endfunction()

# heapwood_instance_objects(NAME SOURCES...): creates an object library, if it does not exist, and
# adds its objects to the caller's list `objects`.
function(heapwood_instance_objects name)
  if(NOT TARGET ${name})
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${ARGN})
    # Unity sources, because most of the compile time is in headers that the allocators share.
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 5)
    target_link_libraries(${name} PUBLIC heapwood_alloc)
    # Without fused multiply-add: split decisions, and so the tree, must not depend on the device.
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false>)
  endif()
  set(objects ${objects} $<TARGET_OBJECTS:${name}> PARENT_SCOPE)
endfunction()

# heapwood_instances(FILE KERNELS): creates the object libraries of FILE's lines for CPU threads
# and, from registry/KERNELS.in, for GPUs. Adds to the caller's lists: `objects`, and
# `declarations` and `entries`, the lines of a registry's table.
function(heapwood_instances file kernels)
  get_filename_component(folder ${file} DIRECTORY)
  file(RELATIVE_PATH module ${heapwood_SOURCE_DIR} ${folder})
  string(MAKE_C_IDENTIFIER "heapwood_instances_${module}" library)
  set(generated ${heapwood_BINARY_DIR}/generated/${library})
  set(sources "")
  set(own_kernels "")
  set(on_gpus "")
  heapwood_registry_types(${file} types)
  foreach(type IN LISTS types)
    set(path ${path_${type}})
    set(with_probe false)
    set(recorded build_recorded_${type})
    if(HEAPWOOD_BUILDS_ONLY)
      set(recorded nullptr)
    elseif("own_kernels" IN_LIST words_${type} OR HEAPWOOD_PROBES)
      set(with_probe true)
    endif()
    set(source ${generated}/${type}_cpu.cpp)
    configure_file(${heapwood_SOURCE_DIR}/registry/erased.in ${source} @ONLY)
    list(APPEND sources ${source})
    string(APPEND declarations "extern const CompiledAllocator replayed_${type}_Cpu;\n")
    set(cpu_compiled "&replayed_${type}_Cpu")
    if(kernels STREQUAL "instance")
      set(own CompiledAllocator{})
      if("own_kernels" IN_LIST words_${type})
        set(own own_kernels_${type})
        configure_file(${heapwood_SOURCE_DIR}/registry/own_kernels.in ${generated}/${own}.cpp @ONLY)
        list(APPEND own_kernels ${generated}/${own}.cpp)
        string(APPEND declarations "extern const CompiledAllocator ${own};\n")
      endif()
      set(cpu_compiled "&compiled_${type}_Cpu")
      string(APPEND declarations "const CompiledAllocator compiled_${type}_Cpu = "
                                 "make_erased<replayed_${type}_Cpu>(${own});\n")
    endif()
    set(cuda_compiled nullptr)
    if(HEAPWOOD_CUDA AND NOT "cpu" IN_LIST words_${type})
      configure_file(${heapwood_SOURCE_DIR}/registry/${kernels}.in
                     ${generated}/${type}_${kernels}.hpp @ONLY)
      list(APPEND on_gpus ${type})
      string(APPEND declarations "extern const CompiledAllocator compiled_${type}_Cuda;\n")
      set(cuda_compiled "&compiled_${type}_Cuda")
    endif()
    string(APPEND entries "    RegisteredAllocator{replayed_${type}_Cpu.traits, ${cpu_compiled}, "
                          "${cuda_compiled}},\n")
  endforeach()
  heapwood_instance_objects(${library} ${sources})
  if(own_kernels)
    heapwood_instance_objects(${library}_own_kernels ${own_kernels})
  endif()
  if(on_gpus)
    heapwood_batches(${generated}/${kernels}_ ${kernels} sources ${on_gpus})
    if(kernels STREQUAL "instance" AND NOT HEAPWOOD_BUILDS_ONLY)
      set(recorded ${generated}/recorded.cu)
      heapwood_recorded(${recorded} ${on_gpus})
      list(APPEND sources ${recorded})
      set_source_files_properties(${recorded} PROPERTIES COMPILE_OPTIONS "${HEAPWOOD_UNTIMED}")
    endif()
    heapwood_instance_objects(${library}_${kernels} ${sources})
  endif()
  foreach(list objects declarations entries)
    set(${list} "${${list}}" PARENT_SCOPE)
  endforeach()
endfunction()

# heapwood_registry(NAME KERNELS FILE...): creates a library that defines
# heapwood::registry::allocators() for the allocators of FILEs, in order. KERNELS: `instance`, or
# `replay_instance`, which has only the kernels of `replay`.
function(heapwood_registry name kernels)
  set(objects "")
  set(declarations "")
  set(entries "")
  foreach(file IN LISTS ARGN)
    heapwood_instances(${file} ${kernels})
  endforeach()
  set(generated ${heapwood_BINARY_DIR}/generated/${name})
  file(CONFIGURE OUTPUT ${generated}/registry_table.inc
       CONTENT "${declarations}\nconst RegisteredAllocator table[] = {\n${entries}};\n" @ONLY)
  set(libraries heapwood_program_trace)
  set(sources erased_replay)
  if(kernels STREQUAL "instance")
    set(libraries heapwood_kdtree heapwood_workloads)
    list(APPEND sources erased)
  endif()
  if(HEAPWOOD_BUILDS_ONLY)
    set(libraries heapwood_kdtree)
    set(sources erased)
  endif()
  foreach(source IN LISTS sources)
    heapwood_instance_objects(heapwood_${source} ${heapwood_SOURCE_DIR}/registry/${source}.cpp)
  endforeach()
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${heapwood_SOURCE_DIR}/registry/registry.cpp
              ${objects})
  target_include_directories(${name} PRIVATE ${generated})
  target_link_libraries(${name} PUBLIC ${libraries})
endfunction()

# heapwood_exercises(TARGET FILE...): adds the conformance suite's kernels for the GPU, with the
# allocators of FILEs, to the test executable TARGET.
function(heapwood_exercises target)
  if(NOT HEAPWOOD_CUDA)
    return()
  endif()
  set(declarations "")
  set(entries "")
  set(on_gpus "")
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/exercises_${target})
  foreach(file IN LISTS ARGN)
    heapwood_registry_types(${file} types)
    foreach(type IN LISTS types)
      if(NOT "cpu" IN_LIST words_${type})
        set(path ${path_${type}})
        configure_file(${heapwood_SOURCE_DIR}/tests/alloc/exercise.in
                       ${generated}/${type}_exercise.hpp @ONLY)
        list(APPEND on_gpus ${type})
        string(APPEND declarations "extern const Exercise exercise_${type};\n")
        string(APPEND entries "    &exercise_${type},\n")
      endif()
    endforeach()
  endforeach()
  heapwood_batches(${generated}/ exercise sources ${on_gpus})
  target_sources(${target} PRIVATE ${sources})
  file(CONFIGURE OUTPUT ${generated}/exercise_table.inc
       CONTENT "${declarations}\nconst Exercise* const exercises[] = {\n${entries}};\n" @ONLY)
  target_include_directories(${target} PRIVATE ${generated})
endfunction()
