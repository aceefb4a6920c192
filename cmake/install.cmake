# tutti, libtutti, headers, pkg-config file and CMake config.
include(GNUInstallDirs)
