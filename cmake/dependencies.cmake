# Libraries of the field. Required: libyaml, cJSON, xxhash, zlib, threads. Optional: oneDNN 3 (else the reference
# kernels alone), hwloc (else /sys is read).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(HWLOC IMPORTED_TARGET hwloc)

find_package(dnnl 3 CONFIG QUIET PATHS "${TUTTI_DEPS}" NO_DEFAULT_PATH)
if(NOT dnnl_FOUND)
  find_package(dnnl 3 CONFIG QUIET)
endif()
if(dnnl_FOUND)
  message(STATUS "oneDNN ${dnnl_VERSION}: ${dnnl_DIR}")
else()
  message(WARNING "oneDNN 3 not found (./dev setup brings it): reference kernels only, which are slow")
endif()
