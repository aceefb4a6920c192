# Fake libraries of NVIDIA's driver (fake_nvml.c), and the tests that load them.
foreach(name fake_nvml fake_nvml_old)
  add_library(${name} SHARED ${CMAKE_CURRENT_LIST_DIR}/fake_nvml.c)
  target_link_libraries(${name} PRIVATE tutti_flags)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME nvidia-ml SUFFIX .so.1 NO_SONAME ON
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fakenvml/${name})
endforeach()
target_compile_definitions(fake_nvml_old PRIVATE FAKE_NVML_OLD=1)
foreach(name test_cards test_ranks_topo_commands)
  target_compile_definitions(${name} PRIVATE FAKE_NVML_LIBRARY="$<TARGET_FILE:fake_nvml>"
                             FAKE_NVML_OLD_LIBRARY="$<TARGET_FILE:fake_nvml_old>")
  add_dependencies(${name} fake_nvml fake_nvml_old)
endforeach()
