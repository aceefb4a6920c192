# The fake libcuda.so.1, which runs PTX on the processor (fake/fake_cuda.h), and what its tests need.
file(GLOB_RECURSE fake_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cuda/fake/*.c)
add_library(fake_cuda SHARED ${fake_sources})
set_target_properties(fake_cuda PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1 NO_SONAME ON C_VISIBILITY_PRESET hidden
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/cuda/fake)
target_link_libraries(fake_cuda PRIVATE tutti_flags m pthread ${CMAKE_DL_LIBS})
target_link_options(fake_cuda PRIVATE -Wl,-soname,libcuda.so.1)
# An instruction is a loop over 32 lanes: it is run as vectors of what the processor at hand has.
include(CheckCCompilerFlag)
check_c_compiler_flag(-march=native has_march_native)
target_compile_options(fake_cuda PRIVATE -O3 $<$<BOOL:${has_march_native}>:-march=native>)
if(TUTTI_SANITIZE) # it checks what kernels do by itself, and wraps around on purpose
  target_compile_options(fake_cuda PRIVATE -fno-sanitize=all)
endif()

foreach(name test_fake_cuda test_fake_cuda_faults test_fake_cuda_calls)
  target_compile_definitions(${name} PRIVATE FAKE_CUDA="$<TARGET_FILE:fake_cuda>")
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS} m)
  add_dependencies(${name} fake_cuda)
  # NVRTC, where no toolkit is installed; it leaks
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "TUTTI_CUDA_PATH=${TUTTI_DEPS}/nvrtc" "ASAN_OPTIONS=detect_leaks=0")
endforeach()

# Suites on the fake card find this in their environment.
set(fake_card "TUTTI_CUDA_PATH=${PROJECT_BINARY_DIR}/tests/cuda/fake:${TUTTI_DEPS}/nvrtc"
    "TUTTI_CACHE=${PROJECT_BINARY_DIR}/tests/cuda/cache" "ASAN_OPTIONS=detect_leaks=0")

# Suites of the card's row on the fake one, with races between blocks looked for. Without NVRTC they are skipped.
foreach(suite test_cuda_eltwise test_cuda_norm test_cuda_step test_cuda_queue)
  add_dependencies(${suite} fake_cuda)
  add_test(NAME ${suite}_on_a_fake_card COMMAND ${suite})
  set_tests_properties(${suite}_on_a_fake_card PROPERTIES LABELS unit ${longest}
                       ENVIRONMENT "${fake_card};TUTTI_FAKE_CUDA_RACES=1")
endforeach()
add_test(NAME test_cuda_norm_on_a_fake_card_long COMMAND test_cuda_norm)
set_tests_properties(test_cuda_norm_on_a_fake_card_long PROPERTIES LABELS long TIMEOUT 900
                     ENVIRONMENT "${fake_card};TUTTI_FAKE_CUDA_RACES=1;TUTTI_LONG=1")

# ptx_of FILE.cu [compute_90] says the PTX that NVRTC makes of a file.
add_executable(ptx_of EXCLUDE_FROM_ALL ${CMAKE_CURRENT_SOURCE_DIR}/cuda/ptx_of.c)
target_link_libraries(ptx_of PRIVATE tutti_flags ${CMAKE_DL_LIBS})
