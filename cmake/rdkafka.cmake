# The target heddle_rdkafka: the system's librdkafka, or the one that is installed below
# HEDDLE_RDKAFKA (ops/librdkafka-current builds such a one; `make RDKAFKA=...` sets it).
add_library(heddle_rdkafka INTERFACE)
if(NOT HEDDLE_RDKAFKA)
  pkg_check_modules(RDKAFKA REQUIRED IMPORTED_TARGET rdkafka>=2.0.2)
  target_link_libraries(heddle_rdkafka INTERFACE PkgConfig::RDKAFKA)
  return()
endif()

find_path(rdkafka_include librdkafka/rdkafka.h
          PATHS ${HEDDLE_RDKAFKA}/include NO_DEFAULT_PATH NO_CACHE REQUIRED)
find_library(rdkafka_library NAMES librdkafka.a rdkafka
             PATHS ${HEDDLE_RDKAFKA} PATH_SUFFIXES lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE}
             NO_DEFAULT_PATH NO_CACHE REQUIRED)
file(STRINGS ${rdkafka_include}/librdkafka/rdkafka.h line REGEX "^#define RD_KAFKA_VERSION +0x")
string(REGEX REPLACE ".*(0x[0-9a-fA-F]+).*" "\\1" rdkafka_version "${line}")
math(EXPR rdkafka_number "${rdkafka_version}")
math(EXPR rdkafka_floor "0x020002ff")
if(rdkafka_number LESS rdkafka_floor)
  message(FATAL_ERROR "the librdkafka in ${HEDDLE_RDKAFKA} is older than 2.0.2")
endif()
target_include_directories(heddle_rdkafka SYSTEM BEFORE INTERFACE ${rdkafka_include})
target_link_libraries(heddle_rdkafka INTERFACE ${rdkafka_library})
if(rdkafka_library MATCHES "\\.a$")
  # What the library itself stands on; one that it was built without costs nothing.
  pkg_check_modules(RDKAFKA_NEEDS REQUIRED IMPORTED_TARGET libcurl libssl libcrypto libsasl2 zlib libzstd)
  find_package(Threads REQUIRED)
  target_link_options(heddle_rdkafka INTERFACE LINKER:--as-needed)
  target_link_libraries(heddle_rdkafka INTERFACE
    PkgConfig::RDKAFKA_NEEDS Threads::Threads ${CMAKE_DL_LIBS} m rt)
else()
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()
