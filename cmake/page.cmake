# The job server's page as ${TUTTI_PAGE_SOURCE}, a C file of all files of src/serve/page, and dygraphs, which draws its curves, with its
# licence. Debian's libjs-dygraphs has both; without it, or without the licence, the page says that it has no curves.
find_file(TUTTI_DYGRAPHS_JS dygraph.min.js PATHS /usr/share/javascript/dygraphs /usr/share/nodejs/dygraphs/dist NO_DEFAULT_PATH)
find_file(TUTTI_DYGRAPHS_CSS dygraph.min.css PATHS /usr/share/javascript/dygraphs /usr/share/nodejs/dygraphs/dist NO_DEFAULT_PATH)
find_file(TUTTI_DYGRAPHS_LICENCE copyright PATHS /usr/share/doc/libjs-dygraphs NO_DEFAULT_PATH)
file(GLOB page CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/serve/page/*)
set(page_files "")
foreach(path ${page})
  get_filename_component(name ${path} NAME)
  list(APPEND page_files ${name}=${path})
endforeach()
if(TUTTI_DYGRAPHS_JS AND TUTTI_DYGRAPHS_CSS AND TUTTI_DYGRAPHS_LICENCE)
  list(APPEND page ${TUTTI_DYGRAPHS_JS} ${TUTTI_DYGRAPHS_CSS} ${TUTTI_DYGRAPHS_LICENCE})
  list(APPEND page_files dygraph.js=${TUTTI_DYGRAPHS_JS} dygraph.css=${TUTTI_DYGRAPHS_CSS} dygraph.licence.txt=${TUTTI_DYGRAPHS_LICENCE})
endif()
string(REPLACE ";" "," page_files "${page_files}")
set(TUTTI_PAGE_SOURCE ${PROJECT_BINARY_DIR}/tutti_page_files.c)
add_custom_command(
  OUTPUT ${TUTTI_PAGE_SOURCE}
  COMMAND ${CMAKE_COMMAND} "-DFILES=${page_files}" -DOUT=${TUTTI_PAGE_SOURCE} -P ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
  DEPENDS ${page} ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
  VERBATIM)
