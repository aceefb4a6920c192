/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_libraries.c: finds CUDA's libraries on this host, also in Python packages of NVIDIA, and fills the tables of
 * their functions. Places are searched in this order:
 *
 *   1. the folders of TUTTI_CUDA_PATH (":" between), which tests and unusual machines name
 *   2. libraries that this process has loaded already
 *   3. site-packages/nvidia of the active Python: of VIRTUAL_ENV and CONDA_PREFIX, else of the python3 on PATH
 *   4. the system's loader
 *   5. CUDA_HOME, CUDA_PATH, /usr/local/cuda
 *
 * The driver belongs to the system, so it is looked for only in 1, 2 and 4. */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/text/strbuf.h"
#include "cuda.h"
#include "cuda_api.h"

enum { MOST_FILES = 3, PATH_BYTES = 512 };

typedef struct {
    const char *name, *package;    /* name: such as "cudnn"; package: the PyPI package that contains the library */
    const char *files[MOST_FILES]; /* file names, newest version first */
    /* pattern of the files in the library's folder that the library opens later by bare names; NULL: none */
    const char *beside;
    bool is_driver;
} library;

static const library libraries[] = {
    {"cuda", NULL, {"libcuda.so.1"}, NULL, true},
    {"nvrtc", "nvidia-cuda-nvrtc", {"libnvrtc.so.13", "libnvrtc.so.12"}, "libnvrtc-builtins.so.*", false},
    {"cublasLt", "nvidia-cublas", {"libcublasLt.so.13", "libcublasLt.so.12"}, NULL, false},
    {"cudnn", "nvidia-cudnn-cu13", {"libcudnn.so.9"}, NULL, false},
    {"nccl", "nvidia-nccl-cu13", {"libnccl.so.2"}, NULL, false},
};

typedef struct {
    const library *what;
    void *handle;
    tutti_strbuf tried; /* reasons why files that exist could not be opened */
    char *path;         /* path of the library that was found, of PATH_BYTES bytes */
} search;

/* Opens the files that this library will open by a bare name. They lie in the library's folder. The loader would not
 * look there, but it finds files by name if they are open already. */
static void open_beside(const library *what, const char *path)
{
    const char *slash = strrchr(path, '/');
    char pattern[PATH_BYTES];
    glob_t found = {0};
    if (!what->beside || !slash) return;
    snprintf(pattern, sizeof pattern, "%.*s/%s", (int)(slash - path), path, what->beside);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t f = 0; f < found.gl_pathc; f++) (void)dlopen(found.gl_pathv[f], RTLD_NOW | RTLD_LOCAL);
    globfree(&found);
}

static bool open_at(search *s, const char *path, int flags)
{
    s->handle = dlopen(path, RTLD_NOW | (s->what->is_driver ? RTLD_GLOBAL : RTLD_LOCAL) | flags);
    if (s->handle) {
        snprintf(s->path, PATH_BYTES, "%s", path);
        open_beside(s->what, path);
    } else if (!(flags & RTLD_NOLOAD) && strchr(path, '/')) {
        tutti_strbuf_printf(&s->tried, "; %s", dlerror());
    }
    return s->handle;
}

static bool open_by_name(search *s, int flags)
{
    for (int i = 0; i < MOST_FILES && s->what->files[i]; i++)
        if (open_at(s, s->what->files[i], flags)) return true;
    return false;
}

/* Opens the library in the first folder that matches the pattern `folder` and has one of its files. */
static bool open_in(search *s, const char *folder)
{
    char pattern[PATH_BYTES];
    for (int i = 0; i < MOST_FILES && s->what->files[i]; i++) {
        glob_t found = {0};
        bool opened = false;
        snprintf(pattern, sizeof pattern, "%s/%s", folder, s->what->files[i]);
        if (glob(pattern, 0, NULL, &found) == 0)
            for (size_t f = 0; f < found.gl_pathc && !opened; f++) opened = open_at(s, found.gl_pathv[f], 0);
        globfree(&found);
        if (opened) return true;
    }
    return false;
}

static bool open_in_each(search *s, const char *folders)
{
    char *copy = strdup(folders), *rest = copy;
    bool opened = false;
    for (char *folder; !opened && (folder = strsep(&rest, ":"));) opened = *folder && open_in(s, folder);
    free(copy);
    return opened;
}

static bool open_in_python(search *s, const char *prefix)
{
    /* folders of CUDA 13's packages; folders of older packages and of cuDNN */
    static const char *const folders[] = {"cu1*", "*"};
    char folder[PATH_BYTES];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(folder, sizeof folder, "%.400s/lib/python3*/site-packages/nvidia/%s/lib", prefix, folders[i]);
        if (open_in(s, folder)) return true;
    }
    return false;
}

/* Finds the folder above the bin folder that holds python3. If python3 is a link, as in a virtual environment, it is
 * not followed. */
static bool find_python(char prefix[PATH_BYTES])
{
    const char *path = getenv("PATH");
    char *copy = strdup(path ? path : ""), *rest = copy;
    bool found = false;
    for (char *folder; !found && (folder = strsep(&rest, ":"));) {
        char program[PATH_BYTES];
        snprintf(program, sizeof program, "%s/python3", folder);
        found = *folder == '/' && access(program, X_OK) == 0;
        if (found) snprintf(prefix, PATH_BYTES, "%s/..", folder);
    }
    free(copy);
    return found;
}

static bool open_in_environment(search *s)
{
    const char *environment = getenv("VIRTUAL_ENV"), *conda = getenv("CONDA_PREFIX");
    char prefix[PATH_BYTES];
    if (environment && open_in_python(s, environment)) return true;
    if (conda && open_in_python(s, conda)) return true;
    return find_python(prefix) && open_in_python(s, prefix);
}

static bool open_in_toolkit(search *s)
{
    const char *const homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    static const char *const folders[] = {"lib64", "lib", "targets/x86_64-linux/lib"};
    char folder[PATH_BYTES];
    for (size_t h = 0; h < sizeof homes / sizeof *homes; h++)
        for (size_t f = 0; homes[h] && f < sizeof folders / sizeof *folders; f++) {
            snprintf(folder, sizeof folder, "%s/%s", homes[h], folders[f]);
            if (open_in(s, folder)) return true;
        }
    return false;
}

static bool open_anywhere(search *s)
{
    const char *named = getenv("TUTTI_CUDA_PATH");
    if (named && open_in_each(s, named)) return true;
    if (open_by_name(s, RTLD_NOLOAD)) return true;
    if (!s->what->is_driver && open_in_environment(s)) return true;
    return open_by_name(s, 0) || (!s->what->is_driver && open_in_toolkit(s));
}

tutti_status tutti_cuda_library(const char *name, void **handle, char path[256], tutti_failure *err)
{
    char found[PATH_BYTES];
    search s = {.path = found};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (!strcmp(libraries[i].name, name)) s.what = &libraries[i];
    if (!s.what) return tutti_fail(err, TUTTI_ERR_FAILED, "CUDA library '%s' is unknown", name);
    const bool opened = open_anywhere(&s);
    *handle = s.handle;
    if (opened && path) snprintf(path, 256, "%.255s", found);
    if (!opened && s.what->is_driver)
        tutti_fail(err, TUTTI_ERR_FAILED, "%s of the NVIDIA driver is not found%s", s.what->files[0],
                   s.tried.text ? s.tried.text : "");
    else if (!opened)
        tutti_fail(err, TUTTI_ERR_FAILED,
                   "%s is not found in TUTTI_CUDA_PATH, Python's site-packages, the loader's folders and CUDA_HOME; "
                   "'pip install %s' brings it%s",
                   s.what->files[0], s.what->package, s.tried.text ? s.tried.text : "");
    tutti_strbuf_release(&s.tried);
    return opened ? TUTTI_OK : TUTTI_ERR_FAILED;
}

/* ---- tables of functions ---- */

tutti_status tutti_cuda_functions(const char *name, const char *const *names, size_t n, void *pointers,
                                  tutti_failure *err)
{
    void *handle;
    char path[256];
    const tutti_status st = tutti_cuda_library(name, &handle, path, err);
    if (st) return st;
    for (size_t i = 0; i < n; i++) {
        void *function = dlsym(handle, names[i]);
        if (!function) return tutti_fail(err, TUTTI_ERR_FAILED, "%s has no function %s: it is too old", path, names[i]);
        memcpy((char *)pointers + i * sizeof function, &function, sizeof function);
    }
    return TUTTI_OK;
}

#define NAME(name, parameters) #name,

tutti_status tutti_cuda_driver_open(tutti_cuda_driver *out, tutti_failure *err)
{
    static const char *const names[] = {TUTTI_CUDA_DRIVER_FUNCTIONS(NAME)};
    return tutti_cuda_functions("cuda", names, sizeof names / sizeof *names, out, err);
}

tutti_status tutti_nvrtc_open(tutti_nvrtc *out, tutti_failure *err)
{
    static const char *const names[] = {TUTTI_NVRTC_FUNCTIONS(NAME)};
    return tutti_cuda_functions("nvrtc", names, sizeof names / sizeof *names, out, err);
}
