# tutti-simgrid: the helper program that plays schedules in SimGrid; beside tutti, which looks for it there. The library's own files in it
# are those that know neither topologies nor SimGrid. Never instrumented: its actors have stacks of their own. -fexceptions: SimGrid ends
# actors that hang by throwing through them.
if(SIMGRID_FOUND AND CMAKE_CXX_COMPILER)
  set(simulate ${PROJECT_SOURCE_DIR}/src/collective/simulate)
  file(GLOB TUTTI_SIMGRID_SOURCES CONFIGURE_DEPENDS ${simulate}/simgrid/*.c ${simulate}/simgrid/*.cc)
  add_executable(tutti_simgrid ${TUTTI_SIMGRID_SOURCES} ${simulate}/engines/actor_player.c ${simulate}/engines/actor_read.c)
  set_target_properties(tutti_simgrid PROPERTIES OUTPUT_NAME tutti-simgrid RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
                        CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
  target_compile_options(tutti_simgrid PRIVATE -Wall -Wextra -Wshadow -fexceptions)
  if(TUTTI_WERROR)
    target_compile_options(tutti_simgrid PRIVATE -Werror)
  endif()
  target_compile_definitions(tutti_simgrid PRIVATE _GNU_SOURCE)
  target_link_libraries(tutti_simgrid PRIVATE PkgConfig::SIMGRID m)
endif()
