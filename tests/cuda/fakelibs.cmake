# The fake libcudnn.so.9 and libcublasLt.so.13 (fakelibs/fakelib.h), which compute on the fake card, beside its libcuda.so.1: this folder is
# what TUTTI_CUDA_PATH names.
function(add_fake_library name file version)
  set(folder ${CMAKE_CURRENT_SOURCE_DIR}/cuda/fakelibs)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/fakelib*.c ${folder}/${name}*.c)
  add_library(${name} SHARED ${sources})
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
