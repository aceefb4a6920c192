# Run by cpack on the folder that becomes a .deb: what Debian's policy wants in usr/share/doc/tutti, and packed pages of the manual.
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
set(doc ${root}/share/doc/${CPACK_PACKAGE_NAME})

set(copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ${CPACK_PACKAGE_NAME}

Files: *
Copyright: 2026 the tutti authors
License: Apache-2.0
 On Debian systems the full text is in
 /usr/share/common-licenses/Apache-2.0.
")
if(EXISTS ${doc}/onednn/LICENSE)
  string(APPEND copyright "
Files: usr/lib/*
Copyright: Intel Corporation and others
License: Apache-2.0
 libdnnl.so.3 is oneDNN. What it contains of others is in
 /usr/share/doc/${CPACK_PACKAGE_NAME}/onednn/THIRD-PARTY-PROGRAMS.
")
  file(REMOVE ${doc}/onednn/LICENSE)
endif()
file(WRITE ${doc}/copyright "${copyright}")
file(REMOVE ${doc}/LICENSE)

string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${doc}/changelog "${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * See CHANGES.md.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
file(GLOB pages ${root}/share/man/man1/*.1)
execute_process(COMMAND gzip -9n ${doc}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
