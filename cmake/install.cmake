# cmake --install: the program, libtutti, the headers of include/tutti, a pkg-config file and a CMake config. oneDNN's library
# is installed beside libtutti when it came from the build folder, so that the result stands alone.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS tutti EXPORT tutti-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tutti_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET tutti_simgrid)
  install(TARGETS tutti_simgrid RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES ${TUTTI_LINKS} DESTINATION ${CMAKE_INSTALL_BINDIR}) # links stay links
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tutti DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/papers DESTINATION ${CMAKE_INSTALL_DATADIR}/tutti FILES_MATCHING PATTERN "*.yaml" PATTERN "*.txt")
install(EXPORT tutti-targets NAMESPACE tutti:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tutti)
set_target_properties(tutti tutti_program PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN")

if(dnnl_FOUND AND EXISTS "${TUTTI_DEPS}/lib/libdnnl.so.3")
  install(FILES "${TUTTI_DEPS}/lib/libdnnl.so.3" DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

file(WRITE ${PROJECT_BINARY_DIR}/tutti-config.cmake
     "include(\"\${CMAKE_CURRENT_LIST_DIR}/tutti-targets.cmake\")\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tutti-config-version.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH TUTTI_UP "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(${PROJECT_SOURCE_DIR}/cmake/tutti.pc.in ${PROJECT_BINARY_DIR}/tutti.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tutti-config.cmake ${PROJECT_BINARY_DIR}/tutti-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tutti)
install(FILES ${PROJECT_BINARY_DIR}/tutti.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
