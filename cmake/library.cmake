# libtutti (static for the tests, shared for users) and the program. Every src/**/*.c belongs to the library, except
# src/cli (the program), src/collective/simulate/simgrid (a helper program), what optional libraries replace or are wanted for, and *_avx2.c, *_avx512.c (x86-64 only, with their own flags).
file(GLOB_RECURSE TUTTI_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.c)
list(FILTER TUTTI_SOURCES EXCLUDE REGEX "/src/cli/|/simulate/simgrid/")
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

# Loops for AVX2 and AVX-512, of which the program picks at run time (src/tensor/isa.h). Without them it is what other processors have.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(TUTTI_IS_X86 ON)
endif()
option(TUTTI_X86_LOOPS "build the loops for AVX2 and AVX-512 as well" ${TUTTI_IS_X86})
if(TUTTI_X86_LOOPS)
  list(FILTER TUTTI_SOURCES EXCLUDE REGEX "_portable\\.c$")
  foreach(source ${TUTTI_SOURCES})
    if(source MATCHES "_avx2\\.c$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-mavx2;-mf16c")
    elseif(source MATCHES "_avx512\\.c$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-mavx512f")
    endif()
  endforeach()
else()
  list(FILTER TUTTI_SOURCES EXCLUDE REGEX "_avx(2|512)\\.c$")
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
tutti_embed(tutti_shipped_machines topology/machines txt)
tutti_embed(tutti_shipped_frameworks predict/frameworks txt)

# loops over registers, unrolled; what AVX-512 and AVX2 bring along (tutti_isa_runs asks for all of it)
foreach(source ${TUTTI_SOURCES})
  if(source MATCHES "/kernel/(lane|sparse|lane_conv_bf16)_(avx512|avx2|generic)\\.c$" AND NOT TUTTI_SANITIZE) # instrumented, that would take minutes
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-O3")
  endif()
  if(source MATCHES "/kernel/(lane_conv_bf16|lane|sparse)_avx512\\.c$")
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-mavx512bw;-mavx512vl;-mavx512dq;-mfma")
    if(source MATCHES "_bf16_")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-mavx512bf16")
    endif()
  elseif(source MATCHES "/kernel/tile_conv_avx512\\.c$") # AMX: asked for where oneDNN has it
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-O3;-mavx512bw;-mavx512vl;-mamx-tile;-mamx-bf16")
  elseif(source MATCHES "/kernel/(lane|sparse)_avx2\\.c$")
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-mfma")
  endif()
endforeach()

# register blocks of matrix products, and their tiles; AMX is asked for at run time
foreach(source ${TUTTI_SOURCES})
  if(source MATCHES "/kernel/gemm_(generic|tiles|avx2|avx512|bf16_avx512|amx_avx512)\\.c$")
    if(NOT TUTTI_SANITIZE) # as above
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-O3")
    endif()
    if(source MATCHES "_avx512\\.c$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-mavx512bw;-mavx512vl;-mavx512dq;-mfma")
    elseif(source MATCHES "_avx2\\.c$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-mfma")
    endif()
    if(source MATCHES "_bf16_avx512")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-mavx512bf16")
    elseif(source MATCHES "_amx_")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-mamx-tile;-mamx-bf16")
    endif()
  endif()
endforeach()

# its loops over a few taps are worth unrolling
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/data/resample_rows.c PROPERTIES COMPILE_OPTIONS "-O3")

# plain loops that become vectors at this level only
foreach(source ${TUTTI_SOURCES})
  if(source MATCHES "/tensor/reduce_[^/]*\\.c$|/method/(rule_[^/]*|centre)\\.c$")
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-O3")
  endif()
endforeach()

# small loops over registers, unrolled; fused multiply-adds where they are written
foreach(source ${TUTTI_SOURCES})
  if(source MATCHES "/svm/svm_(tile|pairs)_[^/]*\\.c$")
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-O3")
    if(source MATCHES "/svm_tile_[^/]*_avx2\\.c$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-mfma")
    endif()
  endif()
endforeach()

add_library(tutti_objects OBJECT ${TUTTI_SOURCES})
target_include_directories(tutti_objects PUBLIC ${PROJECT_SOURCE_DIR}/include PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(tutti_objects SYSTEM PRIVATE ${UCX_INCLUDE_DIRS} ${PMIX_INCLUDE_DIRS}) # loaded, not linked (base/library.h)
target_compile_definitions(tutti_objects PRIVATE TUTTI_VERSION="${PROJECT_VERSION}" $<$<BOOL:${TUTTI_X86_LOOPS}>:TUTTI_X86_LOOPS>)
target_link_libraries(tutti_objects PUBLIC tutti_flags ${TUTTI_LIBS})

add_library(tutti_static STATIC $<TARGET_OBJECTS:tutti_objects>)
set_target_properties(tutti_static PROPERTIES OUTPUT_NAME tutti_tests)
target_include_directories(tutti_static PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(tutti_static PUBLIC tutti_flags ${TUTTI_LIBS})

add_library(tutti SHARED $<TARGET_OBJECTS:tutti_objects>)
set_target_properties(tutti PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
target_include_directories(tutti PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(tutti PRIVATE tutti_flags ${TUTTI_LIBS})

file(GLOB TUTTI_CLI CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.c)
add_executable(tutti_program ${TUTTI_CLI})
set_target_properties(tutti_program PROPERTIES OUTPUT_NAME tutti RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_compile_definitions(tutti_program PRIVATE TUTTI_VERSION="${PROJECT_VERSION}")
target_link_libraries(tutti_program PRIVATE tutti_static)

# The commands that are programs of their own: links beside the program, which looks at the name it was called by.
foreach(link svm-train svm-predict)
  add_custom_command(TARGET tutti_program POST_BUILD COMMAND ${CMAKE_COMMAND} -E create_symlink tutti ${PROJECT_BINARY_DIR}/${link} VERBATIM)
  list(APPEND TUTTI_LINKS ${PROJECT_BINARY_DIR}/${link})
endforeach()
