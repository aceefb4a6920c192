# cpack -G DEB (or TGZ) in the build folder: one package with all that `cmake --install` brings, for /usr. The dependencies are found by
# dpkg-shlibdeps; copyright and changelog are made where Debian wants them.
set(CPACK_PACKAGE_NAME tutti)
set(CPACK_PACKAGE_VENDOR "the tutti authors")
set(CPACK_PACKAGE_CONTACT "The tutti authors <maintainers@tutti.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "train networks over many processes by proved schedules")
set(CPACK_PACKAGE_DESCRIPTION "Everything that ranks do together is a value that is checked, simulated
and run: schedules of collectives, steps of training, plans. Trains networks
and support vector machines over processes and hosts, and predicts how long
that takes on machines that are not there.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${TUTTI_DEPS}/lib)
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
file(WRITE ${PROJECT_BINARY_DIR}/debian/shlibs "libtutti ${PROJECT_VERSION_MAJOR} tutti (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers ${PROJECT_BINARY_DIR}/debian/shlibs)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libucx0, libpmix2, coinor-cbc")
if(TUTTI_SVM_PROGRAMS)
  set(CPACK_DEBIAN_PACKAGE_CONFLICTS libsvm-tools) # its programs have the same names: TUTTI_SVM_PROGRAMS=OFF leaves ours out
endif()
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian_files.cmake)
include(CPack)
