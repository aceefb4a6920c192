# cmake -DFOLDER=src/predict/devices -DENDING=txt -DTABLE=tutti_shipped_devices -DOUT=FILE.c -P embed_texts.cmake: the files NAME.ENDING of a
# folder as one C file, a row each of that table of tutti_embedded_text (src/base/text/sourced.h), by name. Bytes: a C compiler may refuse long strings.
file(GLOB paths ${FOLDER}/*.${ENDING})
list(SORT paths)
set(texts "")
set(rows "")
foreach(path ${paths})
  get_filename_component(name ${path} NAME_WE)
  string(MAKE_C_IDENTIFIER "text_${name}" identifier)
  file(READ ${path} hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND texts "static const char ${identifier}[] = {\n${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", ${identifier}},\n")
endforeach()
file(WRITE ${OUT} "/* Made by cmake/embed_texts.cmake. */\n#include \"base/text/sourced.h\"\n\n${texts}
extern const tutti_embedded_text ${TABLE}[];\nconst tutti_embedded_text ${TABLE}[] = {\n${rows}    {0, 0},\n};\n")
