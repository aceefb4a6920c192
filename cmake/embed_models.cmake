# cmake -DFOLDER=src/training/model/zoo -DOUT=FILE.c -P embed_models.cmake: the model files of a folder as one C file, a row each of
# tutti_shipped_models (src/training/model/shipped_models.h), by name. Bytes, because a C compiler may refuse long strings.
file(GLOB paths ${FOLDER}/*.yaml)
list(SORT paths)
set(texts "")
set(rows "")
foreach(path ${paths})
  get_filename_component(name ${path} NAME_WE)
  string(MAKE_C_IDENTIFIER ${name} identifier)
  file(READ ${path} hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND texts "static const char ${identifier}[] = {\n${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", ${identifier}},\n")
endforeach()
file(WRITE ${OUT} "/* Made by cmake/embed_models.cmake. */\n#include \"training/model/shipped_models.h\"\n\n${texts}
const tutti_shipped_model tutti_shipped_models[] = {\n${rows}    {0, 0},\n};\n")
