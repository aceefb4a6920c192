/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc_text.h: CUDA text becomes PTX, for tests: NVRTC is opened where it is found. */
#ifndef TESTS_NVRTC_TEXT_H
#define TESTS_NVRTC_TEXT_H

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NVRTC opens its builtins by a bare name, which the loader finds only if they are open already. */
static inline void nvrtc_open_builtins(const char *folder)
{
    char pattern[512];
    glob_t found = {0};
    snprintf(pattern, sizeof(pattern), "%s/libnvrtc-builtins.so.*", folder);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) (void)dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    globfree(&found);
}

/* Opens NVRTC in one folder ("": the loader's); NULL: it is not there. */
static inline void *nvrtc_open_in(const char *folder)
{
    static const char *names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
    for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++) {
        char path[512];
        snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", names[n]);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library && *folder) nvrtc_open_builtins(folder);
        if (library) return library;
    }
    return NULL;
}

/* Opens NVRTC from the folders of TUTTI_CUDA_PATH (":" between), the loader's or /usr/local/cuda; NULL: there is
 * none. */
static inline void *nvrtc_open(void)
{
    char *folders = strdup(getenv("TUTTI_CUDA_PATH") ? getenv("TUTTI_CUDA_PATH") : ""), *rest = folders;
    void *library = NULL;
    for (char *folder; !library && (folder = strsep(&rest, ":"));)
        if (*folder) library = nvrtc_open_in(folder);
    free(folders);
    if (!library) library = nvrtc_open_in("");
    return library ? library : nvrtc_open_in("/usr/local/cuda/lib64");
}

#define NVRTC_CALL(library, name, ...) ((int (*)(__VA_ARGS__))(uintptr_t)dlsym(library, name))

/* Compiles a text into PTX for a target ("compute_90"), which the caller frees. NULL: the text did not compile, and the
 * log is on stderr if `log`. */
static inline char *nvrtc_ptx(void *library, const char *text, const char *target, int log)
{
    typedef void *program;
    program p = NULL;
    char option[64];
    snprintf(option, sizeof(option), "--gpu-architecture=%s", target);
    const char *options[] = {option, "--std=c++17"};
    if (NVRTC_CALL(library, "nvrtcCreateProgram", program *, const char *, const char *, int, const char **,
                   const char **)(&p, text, "test.cu", 0, NULL, NULL))
        return NULL;
    char *ptx = NULL;
    size_t n = 0;
    if (!NVRTC_CALL(library, "nvrtcCompileProgram", program, int, const char **)(p, 2, options)) {
        NVRTC_CALL(library, "nvrtcGetPTXSize", program, size_t *)(p, &n);
        ptx = malloc(n + 1);
        if (ptx) NVRTC_CALL(library, "nvrtcGetPTX", program, char *)(p, ptx);
    } else if (log) {
        NVRTC_CALL(library, "nvrtcGetProgramLogSize", program, size_t *)(p, &n);
        char *words = malloc(n + 1);
        if (words) {
            NVRTC_CALL(library, "nvrtcGetProgramLog", program, char *)(p, words);
            fprintf(stderr, "%s\n", words);
        }
        free(words);
    }
    NVRTC_CALL(library, "nvrtcDestroyProgram", program *)(&p);
    return ptx;
}

static inline char *nvrtc_read(FILE *f)
{
    size_t used = 0, room = 1 << 16;
    char *text = malloc(room);
    while (text && !feof(f)) {
        used += fread(text + used, 1, room - used - 1, f);
        if (used < room - 1) continue;
        room *= 2;
        char *more = realloc(text, room);
        if (!more) free(text);
        text = more;
    }
    if (text) text[used] = '\0';
    return text;
}

/* Compiles all that f has as nvrtc_ptx does, and closes f. */
static inline char *nvrtc_ptx_of(void *library, FILE *f, const char *target, int log)
{
    char *text = nvrtc_read(f), *ptx = text ? nvrtc_ptx(library, text, target, log) : NULL;
    fclose(f);
    free(text);
    return ptx;
}

#endif
