# tutti-server: the program of the job server, beside tutti, which looks for it there. It has the library's files of src/base and src/metrics
# and its own, and neither libtutti nor anything that could carry a tensor.
if(SERVER_FOUND)
  include(cmake/page.cmake)
  file(GLOB TUTTI_SERVER_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/store/*.c ${PROJECT_SOURCE_DIR}/src/http/*.c
       ${PROJECT_SOURCE_DIR}/src/serve/*.c
       ${PROJECT_SOURCE_DIR}/src/serve/attempt/*.c ${PROJECT_SOURCE_DIR}/src/serve/api/*.c)
  list(FILTER TUTTI_SERVER_SOURCES EXCLUDE REGEX "/server_main\\.c$")
  # without server_main.c it is a library, which tests are linked with
  add_library(tutti_server_parts STATIC ${TUTTI_SERVER_SOURCES} ${TUTTI_PAGE_SOURCE}
              "$<FILTER:$<TARGET_OBJECTS:tutti_objects>,INCLUDE,/src/(base|metrics)/>")
  target_include_directories(tutti_server_parts PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(tutti_server_parts PUBLIC TUTTI_VERSION="${PROJECT_VERSION}")
  target_link_libraries(tutti_server_parts PUBLIC tutti_flags PkgConfig::MICROHTTPD PkgConfig::SQLITE PkgConfig::YAML PkgConfig::CJSON
                        PkgConfig::XXHASH Threads::Threads m ${CMAKE_DL_LIBS})
  add_executable(tutti_server ${PROJECT_SOURCE_DIR}/src/serve/server_main.c)
  set_target_properties(tutti_server PROPERTIES OUTPUT_NAME tutti-server RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_libraries(tutti_server PRIVATE tutti_server_parts)
endif()
