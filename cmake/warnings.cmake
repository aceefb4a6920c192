# What every target of ours is compiled with.
add_library(tutti_flags INTERFACE)
target_compile_options(tutti_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wvla -Wstrict-prototypes
                       -fno-math-errno -ffp-contract=off)
target_compile_definitions(tutti_flags INTERFACE _GNU_SOURCE)
if(TUTTI_WERROR)
  target_compile_options(tutti_flags INTERFACE -Werror)
endif()
if(TUTTI_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "TUTTI_FUZZ needs clang: CC=clang cmake ...")
  endif()
  set(TUTTI_SANITIZE address,undefined)
  target_compile_options(tutti_flags INTERFACE -fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined)
endif()
if(TUTTI_SANITIZE)
  # instrumented code confuses gcc 12's flow analysis: these warn of null formats and uninitialised reads that are not there
  target_compile_options(tutti_flags INTERFACE -fsanitize=${TUTTI_SANITIZE} -fno-omit-frame-pointer
                         $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation> $<$<C_COMPILER_ID:GNU>:-Wno-format-overflow>
                         $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(tutti_flags INTERFACE -fsanitize=${TUTTI_SANITIZE})
endif()
