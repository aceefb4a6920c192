# cmake -DFILES="NAME=PATH,NAME=PATH" -DOUT=FILE.c -P embed_files.cmake: files with any bytes as one C file: the table tutti_page_files
# (src/serve/page_files.h), by name. Bytes: a C compiler may refuse long strings, and a file may have NULs.
string(REPLACE "," ";" files "${FILES}")
set(texts "")
set(rows "")
foreach(file ${files})
  string(REGEX MATCH "^([^=]+)=(.+)$" matched "${file}")
  set(name ${CMAKE_MATCH_1})
  string(MAKE_C_IDENTIFIER "bytes_${name}" identifier)
  file(READ ${CMAKE_MATCH_2} hex HEX)
  string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND texts "static const unsigned char ${identifier}[] = {\n${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", ${identifier}, sizeof ${identifier} - 1},\n")
endforeach()
file(WRITE ${OUT} "/* Made by cmake/embed_files.cmake. */\n#include \"serve/page_files.h\"\n\n${texts}
const tutti_page_file tutti_page_files[] = {\n${rows}    {0, 0, 0},\n};\n")
