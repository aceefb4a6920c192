# The fake libcudnn.so.9 and libcublasLt.so.13 (fakelibs/fakelib.h), which compute on the fake card, beside its libcuda.so.1: this folder is
# what TUTTI_CUDA_PATH names.
function(add_fake_library name file version)
  set(folder ${CMAKE_CURRENT_SOURCE_DIR}/cuda/fakelibs)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/fakelib*.c ${folder}/${name}*.c)
  add_library(${name} SHARED ${sources} ${CMAKE_CURRENT_SOURCE_DIR}/cuda/fake/fake_demand.c)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${file} SUFFIX .so.${version} NO_SONAME ON C_VISIBILITY_PRESET hidden
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/cuda/fake)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE tutti_flags pthread ${CMAKE_DL_LIBS})
  target_link_options(${name} PRIVATE -Wl,-soname,lib${file}.so.${version} -Wl,--no-undefined)
  target_compile_options(${name} PRIVATE -O3 $<$<BOOL:${has_march_native}>:-march=native>)
  if(TUTTI_SANITIZE) # products take minutes with it
    target_compile_options(${name} PRIVATE -fno-sanitize=all)
  endif()
endfunction()
add_fake_library(fake_cudnn cudnn 9)
add_fake_library(fake_cublaslt cublasLt 13)

foreach(name test_fake_libs test_fake_cudnn_faults test_fake_cublaslt_faults)
  target_compile_definitions(${name} PRIVATE FAKE_CUDA="$<TARGET_FILE:fake_cuda>"
                             FAKE_CUDNN="$<TARGET_FILE:fake_cudnn>" FAKE_CUBLASLT="$<TARGET_FILE:fake_cublaslt>")
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS} m)
  add_dependencies(${name} fake_cuda fake_cudnn fake_cublaslt)
  if(name MATCHES "_faults$") # its processes end where the fault is
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
  endif()
endforeach()

# Suites that multiply, and whole trainings, on the fake card. Without NVRTC they are skipped.
foreach(suite test_cuda_products test_cuda_ops)
  add_dependencies(${suite} fake_cuda fake_cudnn fake_cublaslt)
  add_test(NAME ${suite}_on_a_fake_card COMMAND ${suite})
  set_tests_properties(${suite}_on_a_fake_card PROPERTIES LABELS unit ${longest} ENVIRONMENT "${fake_card}")
endforeach()
add_dependencies(tutti_program fake_cuda fake_cudnn fake_cublaslt)
add_test(NAME trainings_on_a_fake_card_are_those_of_the_cpu
         COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/cuda/train_on_a_fake_card.py $<TARGET_FILE:tutti_program> ${PROJECT_BINARY_DIR}/tests/cuda/runs)
set_tests_properties(trainings_on_a_fake_card_are_those_of_the_cpu PROPERTIES LABELS unit ${longest} SKIP_RETURN_CODE 77
                     ENVIRONMENT "${fake_card}")
add_test(NAME trainings_on_a_fake_card_are_those_of_the_cpu_long
         COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/cuda/train_on_a_fake_card.py $<TARGET_FILE:tutti_program> ${PROJECT_BINARY_DIR}/tests/cuda/runs-long
                 --long)
set_tests_properties(trainings_on_a_fake_card_are_those_of_the_cpu_long PROPERTIES LABELS long TIMEOUT 3600 SKIP_RETURN_CODE 77
                     ENVIRONMENT "${fake_card}")

# Every kernel for every architecture, with its registers: a minute.
add_test(NAME kernels_compile_for_every_card
         COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/cuda/kernels_compile.py ${PROJECT_SOURCE_DIR} ${TUTTI_DEPS}/nvrtc)
set_tests_properties(kernels_compile_for_every_card PROPERTIES LABELS long TIMEOUT 600 SKIP_RETURN_CODE 77)
