# cmake --install: the program, libtutti, the headers of include/tutti, a pkg-config file and a CMake config; manual, completion, documents,
# examples, licences. oneDNN's library goes into a folder of ours when it came from the build folder, so that the result stands alone and
# no other program finds it. The target `uninstall` removes what was installed.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(TUTTI_PRIVATE ${CMAKE_INSTALL_LIBDIR}/tutti) # libraries that only we load
set_target_properties(tutti PROPERTIES INSTALL_RPATH "$ORIGIN/tutti")
set_target_properties(tutti_program PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr") # the loader looks there by itself
  set_target_properties(tutti_program PROPERTIES INSTALL_RPATH "")
endif()

if(TUTTI_STRIP)
  install(CODE "set(CMAKE_INSTALL_DO_STRIP TRUE)")
endif()
install(TARGETS tutti EXPORT tutti-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tutti_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET tutti_simgrid)
  install(TARGETS tutti_simgrid RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tutti)
endif()
if(TARGET tutti_server)
  install(TARGETS tutti_server RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tutti)
endif()
if(TUTTI_SVM_PROGRAMS)
  install(FILES ${TUTTI_LINKS} DESTINATION ${CMAKE_INSTALL_BINDIR}) # links stay links
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tutti DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/papers DESTINATION ${CMAKE_INSTALL_DATADIR}/tutti FILES_MATCHING PATTERN "*.yaml" PATTERN "*.txt" PATTERN "*.json" PATTERN "*.py")
install(EXPORT tutti-targets NAMESPACE tutti:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tutti)

if(dnnl_FOUND AND EXISTS "${TUTTI_DEPS}/lib/libdnnl.so.3")
  install(FILES "${TUTTI_DEPS}/lib/libdnnl.so.3" DESTINATION ${TUTTI_PRIVATE})
  install(DIRECTORY "${TUTTI_DEPS}/share/doc/onednn" DESTINATION ${CMAKE_INSTALL_DOCDIR})
  if(TUTTI_STRIP AND CMAKE_STRIP) # a fifth of its 55 MB are names that nobody asks for
    install(CODE "execute_process(COMMAND ${CMAKE_STRIP} --strip-unneeded \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${TUTTI_PRIVATE}/libdnnl.so.3\")")
  endif()
endif()

file(WRITE ${PROJECT_BINARY_DIR}/tutti-config.cmake
     "include(\"\${CMAKE_CURRENT_LIST_DIR}/tutti-targets.cmake\")\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tutti-config-version.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH TUTTI_UP "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(${PROJECT_SOURCE_DIR}/cmake/tutti.pc.in ${PROJECT_BINARY_DIR}/tutti.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tutti-config.cmake ${PROJECT_BINARY_DIR}/tutti-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tutti)
install(FILES ${PROJECT_BINARY_DIR}/tutti.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES LICENSE README.md ARCHITECTURE.md CHANGES.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES bench/RESULTS.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench)
install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL FILES_MATCHING PATTERN "tutti*.1")
install(FILES tools/completion/tutti DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
if(TUTTI_SVM_PROGRAMS)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL FILES_MATCHING PATTERN "svm-*.1")
endif()

add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
                                    -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake)
