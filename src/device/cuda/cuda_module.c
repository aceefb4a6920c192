/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_module.c: compiles the texts of CUDA kernels by NVRTC for the card at hand, and keeps the results in a folder
 * for the next start.
 *
 * A card that NVRTC knows gets machine code (a cubin), which any driver of the same major version loads. A newer card
 * gets PTX for the newest architecture that NVRTC knows, which the driver compiles. The folder is TUTTI_CACHE, else
 * XDG_CACHE_HOME/tutti, else HOME/.cache/tutti; a file's name is the hash of the text, the card's capability and the
 * options. If the file cannot be written, the text is compiled again at the next start. If the driver refuses a kept
 * file, the text is compiled anew. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/file.h"
#include "../../base/hash.h"
#include "../../base/host/user_folder.h"
#include "../../base/text/strbuf.h"
#include "cuda_impl.h"

enum { MOST_ARCHS = 64, IMAGE_BYTES = 64 << 20, FOLDER_BYTES = 416, PATH_BYTES = 512 };
#define LANGUAGE  "--std=c++17"
#define FUNCTIONS "-default-device"

typedef struct {
    tutti_cuda *c;
    const char *name;  /* name of the module */
    tutti_strbuf text; /* the text "common", followed by the text of the module */
    char arch[32];     /* architecture to compile for, such as "sm_90" or "compute_121" */
    /* folder and file in which the compiled image is kept; empty if it is not kept */
    char folder[FOLDER_BYTES], file[PATH_BYTES];
    char *image; /* the image that the driver loads; freed by free() */
    size_t nbytes;
} building;

/* ---- compiling ---- */

static tutti_status fail_compiler(const building *b, const tutti_nvrtc *n, void *program, tutti_failure *err)
{
    size_t bytes = 0;
    n->nvrtcGetProgramLogSize(program, &bytes);
    char *log = tutti_alloc(bytes + 1);
    if (bytes) n->nvrtcGetProgramLog(program, log);
    const tutti_status st = tutti_fail(err, TUTTI_ERR_FAILED, "NVRTC refuses kernel text '%s' for %s: %s", b->name,
                                       b->arch, bytes ? log : "no words");
    free(log);
    return st;
}

/* Chooses the architecture to compile for. */
static void choose_arch(building *b, const tutti_nvrtc *n)
{
    int archs[MOST_ARCHS], count = 0, best = 0;
    const int own = 10 * b->c->card.major + b->c->card.minor;
    if (n->nvrtcGetNumSupportedArchs(&count) || count > MOST_ARCHS || n->nvrtcGetSupportedArchs(archs)) count = 0;
    for (int i = 0; i < count; i++)
        if (archs[i] <= own && archs[i] > best) best = archs[i];
    snprintf(b->arch, sizeof b->arch, best == own ? "sm_%d" : "compute_%d", best ? best : own);
}

static bool makes_ptx(const building *b)
{
    return strncmp(b->arch, "compute_", 8) == 0;
}

static tutti_status compile(building *b, tutti_failure *err)
{
    tutti_nvrtc n;
    tutti_status st = tutti_nvrtc_open(&n, err);
    if (st) return st;
    char arch[64];
    void *program = NULL;
    choose_arch(b, &n);
    snprintf(arch, sizeof arch, "--gpu-architecture=%s", b->arch);
    const char *const options[] = {arch, LANGUAGE, FUNCTIONS};
    if (n.nvrtcCreateProgram(&program, b->text.text, b->name, 0, NULL, NULL))
        return tutti_fail(err, TUTTI_ERR_FAILED, "NVRTC makes no program of kernel text '%s'", b->name);
    if (n.nvrtcCompileProgram(program, (int)(sizeof options / sizeof *options), options)) {
        st = fail_compiler(b, &n, program, err);
    } else {
        (makes_ptx(b) ? n.nvrtcGetPTXSize : n.nvrtcGetCUBINSize)(program, &b->nbytes);
        b->image = tutti_alloc(b->nbytes + 1);
        (makes_ptx(b) ? n.nvrtcGetPTX : n.nvrtcGetCUBIN)(program, b->image);
    }
    n.nvrtcDestroyProgram(&program);
    return st;
}

/* ---- the cache folder ---- */

/* Sets folder and file. Leaves both empty if the environment names no folder, or if the name is too long. */
static void find_place(building *b)
{
    char key[64], hash[17], *folder = tutti_user_folder("TUTTI_CACHE", "XDG_CACHE_HOME", ".cache");
    const bool fits = folder && strlen(folder) < FOLDER_BYTES;
    if (fits) snprintf(b->folder, FOLDER_BYTES, "%s", folder);
    free(folder);
    if (!fits) return;
    snprintf(key, sizeof key, "%d.%d " LANGUAGE " " FUNCTIONS, b->c->card.major, b->c->card.minor);
    tutti_hash_text(tutti_hash(b->text.text, b->text.length) ^ tutti_hash(key, strlen(key)), hash);
    snprintf(b->file, PATH_BYTES, "%s/%s-%s.bin", b->folder, b->name, hash);
}

static void keep(const building *b)
{
    if (*b->folder && tutti_file_make_dir(b->folder, NULL) == TUTTI_OK)
        tutti_file_write_atomic(b->file, b->image, b->nbytes, NULL);
}

static bool read_kept(building *b)
{
    return *b->file && tutti_file_read(b->file, IMAGE_BYTES, TUTTI_ERR_FAILED, &b->image, &b->nbytes, NULL) == TUTTI_OK;
}

/* ---- loading ---- */

static tutti_status load(building *b, void **module, tutti_failure *err)
{
    tutti_cuda *c = b->c;
    if (read_kept(b) && c->driver.cuModuleLoadData(module, b->image) == 0) return TUTTI_OK;
    free(b->image);
    b->image = NULL;
    const tutti_status st = compile(b, err);
    if (st) return st;
    const tutti_cu_result result = c->driver.cuModuleLoadData(module, b->image);
    if (!result) {
        keep(b);
        return TUTTI_OK;
    }
    char words[160];
    tutti_cuda_words(&c->driver, result, words);
    return tutti_fail(err, TUTTI_ERR_FAILED, "the driver refuses kernels '%s', compiled for %s: %s", b->name, b->arch,
                      words);
}

static tutti_status open_module(tutti_cuda *c, const tutti_embedded_text *texts, const char *name, void **module,
                                tutti_failure *err)
{
    const char *text = tutti_embedded_find(texts, name), *common = tutti_embedded_find(texts, "common");
    building b = {.c = c, .name = name};
    if (!text) return tutti_fail(err, TUTTI_ERR_FAILED, "kernel text '%s' is unknown", name);
    if (common) tutti_strbuf_puts(&b.text, common);
    tutti_strbuf_printf(&b.text, "\n#line 1 \"%s.cu\"\n%s", name, text);
    find_place(&b);
    const tutti_status st = load(&b, module, err);
    free(b.image);
    tutti_strbuf_release(&b.text);
    if (st) return st;
    c->modules = tutti_realloc(c->modules, sizeof *c->modules * (size_t)(c->nmodules + 1));
    c->modules[c->nmodules++] = (tutti_cuda_module){text, *module};
    return TUTTI_OK;
}

tutti_status tutti_cuda_find(tutti_cuda *c, const tutti_embedded_text *texts, const char *module, const char *entry,
                             tutti_cuda_function *out, tutti_failure *err)
{
    const char *text = tutti_embedded_find(texts, module);
    void *found = NULL, *function = NULL;
    for (int i = 0; i < c->nmodules && !found; i++)
        if (c->modules[i].text == text) found = c->modules[i].module;
    if (!found) {
        const tutti_status st = open_module(c, texts, module, &found, err);
        if (st) return st;
    }
    if (c->driver.cuModuleGetFunction(&function, found, entry))
        return tutti_fail(err, TUTTI_ERR_FAILED, "kernel text '%s' has no function '%s'", module, entry);
    *out = function;
    return TUTTI_OK;
}

tutti_status tutti_cuda_find_all(tutti_cuda *c, const tutti_embedded_text *texts, const char *module,
                                 const tutti_cuda_wanted *wanted, size_t n, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (size_t i = 0; i < n && !st; i++) st = tutti_cuda_find(c, texts, module, wanted[i].entry, wanted[i].out, err);
    return st;
}

void tutti_cuda_modules_release(tutti_cuda *c)
{
    for (int i = 0; i < c->nmodules; i++) c->driver.cuModuleUnload(c->modules[i].module);
    free(c->modules);
    c->modules = NULL;
    c->nmodules = 0;
}
