/* SPDX-License-Identifier: Apache-2.0 */
/* init_form.c: refuses files of weights in formats other than safetensors. The message for each format has the command
 * that converts it.
 *
 * The first bytes of a file tell its format: PyTorch's is a zip archive with a pickle in it, or a pickle. NumPy's .npz
 * is a zip archive as well, so for archives the name decides. */
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../../../base/text/strbuf.h"
#include "init_impl.h"

/* %1$s: the file, %2$s: the file to write. */
static const char torch[] =
    "weights of PyTorch, which are converted by: python3 -c \"import torch, safetensors.torch as s; w = "
    "torch.load('%1$s', "
    "map_location='cpu'); w = w.get('state_dict', w); s.save_file({k: v.clone().contiguous() for k, v in w.items() if "
    "torch.is_tensor(v)}, '%2$s')\"";
static const char numpy[] =
    "arrays of NumPy, which are converted by: python3 -c \"import numpy, safetensors.numpy as s; "
    "s.save_file(dict(numpy.load('%1$s')), '%2$s')\"";
static const char hdf5[] = "weights in HDF5, as Keras saves them, which are converted by: python3 -c \"import h5py, "
                           "safetensors.numpy as s; d = {}; "
                           "h5py.File('%1$s').visititems(lambda k, v: d.update({k.replace('/', '.'): v[()]}) if "
                           "hasattr(v, 'shape') else None); "
                           "s.save_file(d, '%2$s')\" (Keras has the outputs of a layer last: transpose them)";
static const char other[] = "weights of a form that is not read: save them as safetensors where they come from";

typedef struct {
    const char *head; /* first bytes of such a file; NULL = any */
    size_t n;
    const char *ending; /* ending of the file's name; NULL = any */
    const char *words;
} form;
static const form forms[] = {{"PK\3\4", 4, ".npz", numpy},  {"PK\3\4", 4, ".keras", other},
                             {"PK\3\4", 4, NULL, torch},    {"\x80\2", 2, NULL, torch},
                             {"\x80\3", 2, NULL, torch},    {"\x80\4", 2, NULL, torch},
                             {"\x80\5", 2, NULL, torch},    {"\x89HDF\r\n\x1a\n", 8, NULL, hdf5},
                             {"\x93NUMPY", 6, NULL, other}, {"GGUF", 4, NULL, other},
                             {NULL, 0, ".onnx", other},     {NULL, 0, ".pb", other},
                             {NULL, 0, ".tflite", other}};

static bool ends_with(const char *name, const char *ending)
{
    const size_t n = strlen(name), m = strlen(ending);
    return n >= m && !strcasecmp(name + n - m, ending);
}

static size_t read_head(const char *path, char head[8])
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t n = fd < 0 ? 0 : read(fd, head, 8);
    if (fd >= 0) close(fd);
    return n > 0 ? (size_t)n : 0;
}

tutti_status tutti_init_check_form(const char *path, tutti_failure *err)
{
    char head[8];
    const size_t n = read_head(path, head);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const form *f = &forms[i];
        if (f->n > n || memcmp(head, f->head ? f->head : head, f->n) != 0 || (f->ending && !ends_with(path, f->ending)))
            continue;
        const char *slash = strrchr(path, '/'), *own = slash ? slash + 1 : path, *dot = strrchr(own, '.');
        const bool is_plain = strlen(path) < 150 && !strpbrk(path, "'\"\\$`");
        tutti_strbuf from = {0}, to = {0}, words = {0};
        tutti_strbuf_puts(&from, is_plain ? path : "FILE");
        tutti_strbuf_printf(&to, "%.*s.safetensors", is_plain ? (int)(dot ? dot - own : (int)strlen(own)) : 7,
                            is_plain ? own : "WEIGHTS");
        if (f->words == other)
            tutti_strbuf_puts(&words, other);
        else
            tutti_strbuf_printf(&words, f->words, from.text, to.text);
        tutti_fail(err, TUTTI_ERR_USAGE, "%s: %s", path, words.text);
        tutti_strbuf_release(&from);
        tutti_strbuf_release(&to);
        tutti_strbuf_release(&words);
        return TUTTI_ERR_USAGE;
    }
    return TUTTI_OK;
}
