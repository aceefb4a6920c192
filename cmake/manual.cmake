# Pages of the manual, made from --help once the program is there (tools/manual.sh). A program for another processor cannot be asked.
if(NOT CMAKE_CROSSCOMPILING)
  add_custom_command(
    OUTPUT ${PROJECT_BINARY_DIR}/man/tutti.1
    COMMAND ${PROJECT_SOURCE_DIR}/tools/manual.sh $<TARGET_FILE:tutti_program> ${PROJECT_BINARY_DIR}/man ${PROJECT_VERSION}
    DEPENDS tutti_program tutti ${PROJECT_SOURCE_DIR}/tools/manual.sh
    VERBATIM)
  add_custom_target(tutti_manual ALL DEPENDS ${PROJECT_BINARY_DIR}/man/tutti.1)
endif()
