# libtutti and the program. Every src/**/*.c belongs to the library, except src/cli/program (the program, which only calls it),
# src/collective/simulate/simgrid (a helper program), src/store, src/http and src/serve (the job server), what optional libraries replace or are wanted for, and loops in vectors.
# Tests and benchmarks look inside: they are linked with libtutti_internal or libtutti_tests.a, which hide nothing and are not installed.
file(GLOB_RECURSE TUTTI_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.c)
list(FILTER TUTTI_SOURCES EXCLUDE REGEX "/src/(cli|store|http|serve)/|/simulate/simgrid/")
set(TUTTI_LIBS PkgConfig::YAML PkgConfig::CJSON PkgConfig::XXHASH PkgConfig::EXPAT PkgConfig::ZLIB PkgConfig::JPEG PkgConfig::PNG Threads::Threads m ${CMAKE_DL_LIBS})

# tutti_optional(FOUND WITH INSTEAD LIBRARY...): an optional library, the files that want it and the file in their place without it.
macro(tutti_optional found with instead)
  set(replacement ${TUTTI_SOURCES})
  list(FILTER replacement INCLUDE REGEX "/${instead}\\.c$")
  list(REMOVE_ITEM TUTTI_SOURCES ${replacement})
  if(${found})
    list(APPEND TUTTI_LIBS ${ARGN})
  else()
    list(FILTER TUTTI_SOURCES EXCLUDE REGEX "/${with}\\.c$")
    list(APPEND TUTTI_SOURCES ${replacement})
  endif()
endmacro()
tutti_optional(dnnl_FOUND "onednn_[^/]*" onednn_absent DNNL::dnnl gomp) # gomp: its OpenMP, to say how many threads
tutti_optional(dnnl_FOUND crew_gomp crew_serial)
tutti_optional(UCX_FOUND "ucx_[^/]*" ucx_absent)
tutti_optional(HWLOC_FOUND detect_hwloc detect_sysfs PkgConfig::HWLOC)
tutti_optional(HWLOC_FOUND "partition_(groups|even|machine)" partition_absent)
tutti_optional(PMIX_FOUND discover_pmix discover_pmix_absent)

# Loops in vectors, of which the program picks at run time (src/tensor/isa.h). *_vector.c are written once and compiled for each instruction
# set, with what its vector_<isa>.h wants; NAME_avx512.c, NAME_avx512bf16.c and NAME_amx.c exist for that one alone. Without TUTTI_X86_LOOPS
# there is what processors other than x86-64 have.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(TUTTI_IS_X86 ON)
endif()
option(TUTTI_X86_LOOPS "build the loops for AVX2 and AVX-512 as well" ${TUTTI_IS_X86})
set(TUTTI_VECTORS ${TUTTI_SOURCES})
list(FILTER TUTTI_VECTORS INCLUDE REGEX "_vector\\.c$")
list(REMOVE_ITEM TUTTI_SOURCES ${TUTTI_VECTORS})
set(TUTTI_ISAS generic)
set(TUTTI_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(TUTTI_FLAGS_avx512 ${TUTTI_FLAGS_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
set(TUTTI_FLAGS_avx512bf16 ${TUTTI_FLAGS_avx512} -mavx512bf16)
set(TUTTI_FLAGS_amx ${TUTTI_FLAGS_avx512bf16} -mamx-tile -mamx-bf16) # whether there is any: asked for where oneDNN has it
if(TUTTI_X86_LOOPS)
  list(APPEND TUTTI_ISAS avx2 avx512)
  foreach(source ${TUTTI_SOURCES})
    if(source MATCHES "_(avx2|avx512|avx512bf16|amx)\\.c$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${TUTTI_FLAGS_${CMAKE_MATCH_1}}")
      if(CMAKE_MATCH_1 STREQUAL avx2)
        set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS TUTTI_FOR_AVX2)
      else()
        set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS TUTTI_FOR_AVX512)
      endif()
    endif()
  endforeach()
else()
  list(FILTER TUTTI_SOURCES EXCLUDE REGEX "_(avx2|avx512|avx512bf16|amx)\\.c$")
endif()

# tutti_embed(TABLE FOLDER ENDING): the files of a folder of src as a table of texts (cmake/embed_texts.cmake).
macro(tutti_embed table folder ending)
  file(GLOB texts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.${ending})
  add_custom_command(
    OUTPUT ${PROJECT_BINARY_DIR}/${table}.c
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${PROJECT_SOURCE_DIR}/src/${folder} -DENDING=${ending} -DTABLE=${table}
            -DOUT=${PROJECT_BINARY_DIR}/${table}.c -P ${PROJECT_SOURCE_DIR}/cmake/embed_texts.cmake
    DEPENDS ${texts} ${PROJECT_SOURCE_DIR}/cmake/embed_texts.cmake
    VERBATIM)
  list(APPEND TUTTI_SOURCES ${PROJECT_BINARY_DIR}/${table}.c)
endmacro()
tutti_embed(tutti_shipped_models training/model/zoo yaml)
tutti_embed(tutti_shipped_devices predict/devices txt)
tutti_embed(tutti_device_probes predict/probes yaml)
tutti_embed(tutti_shipped_machines topology/machines txt)
tutti_embed(tutti_shipped_frameworks predict/frameworks txt)
tutti_embed(tutti_device_texts device/cuda cu)
tutti_embed(tutti_kernel_texts kernel/cuda/text cu)
tutti_embed(tutti_step_texts training/run/cuda cu)

# Of what is inlined and unrolled so far debuggers show lines, not variables, which take gcc a third of the time (lane_vector.c: 47 s, 30 s without).
foreach(source ${TUTTI_VECTORS})
  set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-g1")
endforeach()

# These files unroll loops over registers, so each check of a sanitizer is compiled hundreds of times. They keep the
# checks of AddressSanitizer, as calls, and go without those of UndefinedBehaviorSanitizer: gcc takes 44 s of processor
# time for lane_vector.c (25 s without checks, 97 s with inline ones of AddressSanitizer alone, 108 s with both at -O1).
# The fuzzers run what reads files, so clang compiles these loops without checks.
set(TUTTI_FLAGS_loops "")
if(TUTTI_FUZZ)
  set(TUTTI_FLAGS_loops -fno-sanitize=all)
elseif(TUTTI_SANITIZE MATCHES "undefined")
  set(TUTTI_FLAGS_loops -fno-sanitize=undefined $<$<C_COMPILER_ID:GNU>:--param=asan-instrumentation-with-call-threshold=0>)
endif()
foreach(source ${TUTTI_SOURCES} ${TUTTI_VECTORS})
  if(NOT source MATCHES "_(vector|tiles|avx512|avx512bf16|amx)\\.c$")
    continue()
  endif()
  set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${TUTTI_FLAGS_loops})
  if(source MATCHES "/kernel/" AND NOT TUTTI_SANITIZE)
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-O3")
  endif()
endforeach()

# its loops over a few taps are worth unrolling
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/data/picture/resample_rows.c PROPERTIES COMPILE_OPTIONS "-O3")

# plain loops that become vectors, and sums of several vectors that stay in registers, at this level only
foreach(source ${TUTTI_SOURCES} ${TUTTI_VECTORS})
  if(source MATCHES "/tensor/(reduce_[^/]*|[^/]*_vector)\\.c$|/method/rule/rule_[^/]*\\.c$|/plan/action/(action|element)_[^/]*\\.c$|/kernel/op/op_(conv|dense)\\.c$")
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-O3")
  endif()
endforeach()

# small loops over registers, unrolled (instrumented, that would take minutes); fused multiply-adds where they are written
foreach(source ${TUTTI_VECTORS})
  if(source MATCHES "/svm/" AND NOT TUTTI_SANITIZE)
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-O3"
                 $<$<STREQUAL:$<TARGET_PROPERTY:NAME>,tutti_avx512>:-fno-tree-slp-vectorize>) # what is in vectors stays in them
  endif()
endforeach()

add_library(tutti_objects OBJECT ${TUTTI_SOURCES})
target_include_directories(tutti_objects PUBLIC ${PROJECT_SOURCE_DIR}/include PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(tutti_objects SYSTEM PRIVATE ${UCX_INCLUDE_DIRS} ${PMIX_INCLUDE_DIRS}) # loaded, not linked (base/host/library.h)
target_compile_definitions(tutti_objects PRIVATE TUTTI_VERSION="${PROJECT_VERSION}" $<$<BOOL:${TUTTI_X86_LOOPS}>:TUTTI_X86_LOOPS>)
target_link_libraries(tutti_objects PUBLIC tutti_flags ${TUTTI_LIBS})
foreach(isa ${TUTTI_ISAS})
  string(TOUPPER ${isa} ISA)
  add_library(tutti_${isa} OBJECT ${TUTTI_VECTORS})
  target_include_directories(tutti_${isa} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(tutti_${isa} PRIVATE ${TUTTI_FLAGS_${isa}})
  target_compile_definitions(tutti_${isa} PRIVATE TUTTI_FOR_${ISA})
  target_link_libraries(tutti_${isa} PRIVATE tutti_flags)
  list(APPEND TUTTI_VECTOR_OBJECTS $<TARGET_OBJECTS:tutti_${isa}>)
endforeach()

add_library(tutti_static STATIC $<TARGET_OBJECTS:tutti_objects> ${TUTTI_VECTOR_OBJECTS})
set_target_properties(tutti_static PROPERTIES OUTPUT_NAME tutti_tests)
target_include_directories(tutti_static PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(tutti_static PUBLIC tutti_flags ${TUTTI_LIBS})

add_library(tutti_internal SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:tutti_objects> ${TUTTI_VECTOR_OBJECTS})
target_include_directories(tutti_internal PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(tutti_internal PRIVATE tutti_flags ${TUTTI_LIBS})

# Commands are part of libtutti, too: the program would else hold all of it a second time.
file(GLOB_RECURSE TUTTI_CLI CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.c)
list(FILTER TUTTI_CLI EXCLUDE REGEX "/src/cli/program/")
set(TUTTI_FEATURES "")
foreach(feature "oneDNN ${dnnl_VERSION}:dnnl_FOUND" "hwloc ${HWLOC_VERSION}:HWLOC_FOUND" "UCX ${UCX_VERSION}:UCX_FOUND" "PMIx ${PMIX_VERSION}:PMIX_FOUND"
                "SimGrid ${SIMGRID_VERSION}:SIMGRID_FOUND" "job server:SERVER_FOUND" "loops for AVX2 and AVX-512:TUTTI_X86_LOOPS")
  string(REGEX MATCH "^(.*):([^:]*)$" parts "${feature}")
  if(${CMAKE_MATCH_2})
    list(APPEND TUTTI_FEATURES "${CMAKE_MATCH_1}")
  endif()
endforeach()
string(REPLACE ";" ", " TUTTI_FEATURES "${TUTTI_FEATURES}")
add_library(tutti_cli OBJECT ${TUTTI_CLI})
target_include_directories(tutti_cli PRIVATE ${PROJECT_SOURCE_DIR}/include)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/cli/main.c PROPERTIES COMPILE_DEFINITIONS
                            "TUTTI_FEATURES=\"${TUTTI_FEATURES}\";TUTTI_COMPILER=\"${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}\"")
target_compile_definitions(tutti_cli PRIVATE TUTTI_VERSION="${PROJECT_VERSION}")
target_link_libraries(tutti_cli PRIVATE tutti_flags ${TUTTI_LIBS})

# libtutti exports what include/tutti declares and nothing else: each line of a header that begins in its first column and calls a name of
# ours with a parenthesis is a declaration (clang-format sees to that; tests/install/exports.py compares).
file(GLOB TUTTI_HEADERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/tutti/*.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TUTTI_HEADERS})
set(names "")
foreach(header ${TUTTI_HEADERS})
  file(STRINGS ${header} lines REGEX "^[a-z_].*[ *]tutti_[a-z0-9_]+\\(")
  foreach(line ${lines})
    if(NOT line MATCHES "^(static|typedef)" AND line MATCHES "^[a-z_][a-z0-9_ *]*[ *](tutti_[a-z0-9_]+)\\(")
      list(APPEND names ${CMAKE_MATCH_1})
    endif()
  endforeach()
endforeach()
list(SORT names)
string(REPLACE ";" ";\n        " names "${names}")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/libtutti.map CONTENT "{\n    global:\n        ${names};\n    local:\n        *;\n};\n")

add_library(tutti SHARED $<TARGET_OBJECTS:tutti_objects> $<TARGET_OBJECTS:tutti_cli> ${TUTTI_VECTOR_OBJECTS})
set_target_properties(tutti PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${PROJECT_BINARY_DIR}/libtutti.map)
target_include_directories(tutti PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(tutti PRIVATE tutti_flags ${TUTTI_LIBS})
target_link_options(tutti PRIVATE -Wl,--version-script=${PROJECT_BINARY_DIR}/libtutti.map)

add_executable(tutti_program ${PROJECT_SOURCE_DIR}/src/cli/program/tutti.c)
set_target_properties(tutti_program PROPERTIES OUTPUT_NAME tutti RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_link_libraries(tutti_program PRIVATE tutti tutti_flags)

# The commands that are programs of their own: links beside the program, which looks at the name it was called by.
foreach(link svm-train svm-predict)
  add_custom_command(TARGET tutti_program POST_BUILD COMMAND ${CMAKE_COMMAND} -E create_symlink tutti ${PROJECT_BINARY_DIR}/${link} VERBATIM)
  list(APPEND TUTTI_LINKS ${PROJECT_BINARY_DIR}/${link})
endforeach()
