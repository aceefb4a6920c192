/* SPDX-License-Identifier: Apache-2.0 */
/* ptx.h: PTX read once into arrays of instructions, and what runs them: one warp of 32 lanes an instruction.
 *
 * A register is an array of 32 values of its own width (predicates: one word of 32 bits), so that an instruction is a
 * loop over lanes that the compiler makes vectors of. Constants and special registers are registers that were filled
 * before. Calls are inlined when a function is read. Lanes of a warp that have gone different ways are run by the
 * smallest program counter first, so they meet again where the ways meet. */
#ifndef FAKE_PTX_H
#define FAKE_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { PTX_LANES = 32, PTX_MAX_THREADS = 1024, PTX_NO_PC = 0x7fffffff, PTX_EXTRA = 8 };

/* Generic addresses of what is not global: windows that no real address lies in. */
#define PTX_SHARED_WINDOW (UINT64_C(0x10) << 56)
#define PTX_LOCAL_WINDOW  (UINT64_C(0x20) << 56)
#define PTX_PARAM_WINDOW  (UINT64_C(0x30) << 56)
#define PTX_WINDOW_MASK   (UINT64_C(0xff) << 56)

typedef enum { PTX_GENERIC, PTX_GLOBAL, PTX_SHARED, PTX_LOCAL, PTX_PARAM } ptx_space; /* .const is global memory */
static inline uint64_t ptx_window_of(ptx_space s)
{
    return s == PTX_SHARED  ? PTX_SHARED_WINDOW
           : s == PTX_LOCAL ? PTX_LOCAL_WINDOW
           : s == PTX_PARAM ? PTX_PARAM_WINDOW
                            : 0;
}

typedef struct ptx_inst ptx_inst;
typedef struct ptx_warp ptx_warp;
typedef struct ptx_block ptx_block;
typedef struct ptx_function ptx_function;
/* Does the instruction for the lanes of the mask, which is not zero. */
typedef void ptx_run(ptx_warp *w, const ptx_inst *i, uint32_t mask);

typedef enum {
    PTX_DO,      /* calls run */
    PTX_BRANCH,  /* to target */
    PTX_TABLE,   /* to table[a] */
    PTX_EXIT,    /* the thread ends */
    PTX_BARRIER, /* waits for the block */
    PTX_MEET,    /* waits for the lanes of the mask in register `mask_at`, then calls run */
    PTX_TRAP     /* the launch fails */
} ptx_kind;

struct ptx_inst {
    ptx_run *run;
    uint32_t d, a, b, c; /* offsets of registers, bytes */
    int32_t guard;       /* offset of a predicate; -1: always */
    uint32_t guard_not;  /* all ones: where the predicate is false */
    uint8_t kind;        /* ptx_kind */
    uint8_t space;       /* ptx_space */
    uint8_t size, count; /* of an element in memory; elements */
    uint8_t flags, what; /* the instruction's own */
    uint32_t line;       /* of the PTX text */
    uint32_t target;     /* instruction */
    uint32_t extra;      /* first of `extra` registers of this function */
    uint32_t mask_at;    /* PTX_MEET */
    int64_t imm;         /* added to an address, or the instruction's own */
    ptx_run *inner;      /* what a wrapper calls */
};

typedef struct {
    uint32_t at, size; /* size 0: a predicate */
    uint64_t bits;
    bool dynamic; /* bits are an offset from the dynamic shared memory */
} ptx_constant;

typedef struct {
    uint32_t at;
    int which; /* ptx_special */
} ptx_special_use;

typedef enum {
    PTX_TID_X,
    PTX_TID_Y,
    PTX_TID_Z,
    PTX_NTID_X,
    PTX_NTID_Y,
    PTX_NTID_Z,
    PTX_CTAID_X,
    PTX_CTAID_Y,
    PTX_CTAID_Z,
    PTX_NCTAID_X,
    PTX_NCTAID_Y,
    PTX_NCTAID_Z,
    PTX_LANEID,
    PTX_WARPID,
    PTX_NWARPID,
    PTX_SMID,
    PTX_NSMID,
    PTX_GRIDID,
    PTX_LANEMASK_EQ,
    PTX_LANEMASK_LT,
    PTX_LANEMASK_LE,
    PTX_LANEMASK_GT,
    PTX_LANEMASK_GE,
    PTX_DYNAMIC_SMEM,
    PTX_TOTAL_SMEM,
    PTX_SPECIALS
} ptx_special;

typedef struct {
    char name[120];
    uint32_t size, offset;
} ptx_param;

struct ptx_function {
    char name[256];
    bool entry, has_body;
    uint32_t first_token, end_token; /* of the body, braces left out */
    ptx_param *params;
    int nparams;
    uint32_t param_bytes;
    ptx_param *returns;
    int nreturns;
    uint32_t max_threads; /* .maxntid's product; 0: none */
    /* filled when the body is read */
    ptx_inst *code;
    uint32_t ncode;
    uint32_t *extra, nextra;
    ptx_constant *constants;
    uint32_t nconstants;
    ptx_special_use *specials;
    uint32_t nspecials;
    uint32_t register_bytes; /* of a warp */
    uint32_t local_bytes;    /* of a thread */
    uint32_t shared_bytes;   /* static */
    uint32_t nregisters;
    int32_t max_dynamic; /* cuFuncSetAttribute */
    void *module;        /* whose it is */
};

typedef struct {
    char name[256];
    uint32_t space;   /* ptx_space */
    uint64_t address; /* device address, or the offset in shared memory */
    bool dynamic;
} ptx_variable;

typedef struct {
    char *text; /* starts of tokens */
    struct ptx_token *tokens;
    uint32_t ntokens;
    ptx_function *functions;
    int nfunctions;
    ptx_variable *variables;
    int nvariables;
    uint32_t shared_bytes; /* of the module's own shared variables */
    char error[512];       /* what could not be read; empty: nothing */
} ptx_module;

/* Reads a text into m; variables get device memory. false: m->error says what could not be read and in which line. */
bool ptx_module_read(ptx_module *m, const char *text);
void ptx_module_free(ptx_module *m);
ptx_function *ptx_module_find(ptx_module *m, const char *name);

/* A launch runs f in grid blocks of block threads. */
typedef struct {
    const ptx_function *f;
    uint32_t grid[3], block[3], dynamic_bytes;
    const uint8_t *params;
} ptx_launch;
void ptx_launch_run(const ptx_launch *l);

/* A trace tells what happened to a byte of shared memory, and of global memory where races are looked for there. */
typedef struct {
    uint32_t write_epoch, read_epoch; /* epochs are never used twice */
    uint32_t write_clock, read_clock; /* of ptx_global_sync */
    uint16_t writer, reader;          /* threads; PTX_MANY: of several warps */
    uint16_t write_sync, read_sync;   /* the warp's count of bar.warp.sync then */
    bool write_atomic, read_lanes;    /* several lanes of the reader's warp have read */
} ptx_trace;
enum { PTX_MANY = 0xffff };

struct ptx_warp {
    uint8_t *regs;
    ptx_block *block;
    const ptx_inst *at; /* running */
    uint32_t index;
    uint32_t live, waiting, parked; /* lanes: not ended, at a barrier, at a PTX_MEET */
    uint32_t exists;                /* lanes that are threads */
    uint32_t carry;                 /* condition code of add.cc and so on */
    uint16_t sync;
    uint32_t pc[PTX_LANES];
};

struct ptx_block {
    const ptx_launch *launch;
    uint32_t ctaid[3], nthreads, nwarps, shared_bytes, local_bytes;
    uint64_t linear;   /* of the block in the grid */
    uint64_t deadline; /* count of instructions at which it is taken to be endless */
    uint8_t *shared, *shared_written, *local;
    ptx_trace *traces;                            /* of shared bytes */
    uint32_t epoch;                               /* grows with each barrier and block */
    uint32_t block_epoch, launch_epoch, acquired; /* the first epochs of them; the clock of the last ptx_global_sync */
    ptx_warp warps[PTX_LANES];
};

/* ---- what instructions are made of ---- */

#define PTX_REG(type, w, at) ((type *)__builtin_assume_aligned((w)->regs + (at), 32))
static inline uint32_t *ptx_pred(ptx_warp *w, uint32_t at)
{
    return (uint32_t *)(void *)(w->regs + at);
}
/* Sets the predicate at `at` of the lanes in `mask` to their bits. */
static inline void ptx_set_pred(ptx_warp *w, uint32_t at, uint32_t bits, uint32_t mask)
{
    uint32_t *p = ptx_pred(w, at);
    *p = (*p & ~mask) | (bits & mask);
}

/* A row is an operation by its name ("add.u32"). kinds has a letter an operand, the result first: p predicate, 1 2 4 8
 * bytes. */
typedef struct {
    const char *name;
    ptx_run *run;
    const char *kinds;
} ptx_row;
typedef struct {
    const ptx_row *rows;
    int count;
} ptx_rows;
ptx_rows ptx_rows_integer(void);
ptx_rows ptx_rows_wide(void);
ptx_rows ptx_rows_float(void);
ptx_rows ptx_rows_half(void);
ptx_rows ptx_rows_convert(void);
ptx_rows ptx_rows_compare(void);
ptx_rows ptx_rows_carry(void);
const ptx_row *ptx_row_find(const char *name);

/* A barrier has one of these in `what`. */
enum { PTX_BAR_SYNC, PTX_BAR_POPC, PTX_BAR_AND, PTX_BAR_OR };

ptx_run ptx_load, ptx_load_fast, ptx_store, ptx_atomic, ptx_sync_warp, ptx_shuffle, ptx_vote, ptx_reduce, ptx_match,
    ptx_active, ptx_directed, ptx_clock, ptx_convert_slow, ptx_in_space, ptx_fence, ptx_copy_async;

/* An atomic has one of these in `what`. */
enum {
    PTX_ATOM_ADD,
    PTX_ATOM_MIN,
    PTX_ATOM_MAX,
    PTX_ATOM_EXCH,
    PTX_ATOM_CAS,
    PTX_ATOM_AND,
    PTX_ATOM_OR,
    PTX_ATOM_XOR,
    PTX_ATOM_INC,
    PTX_ATOM_DEC
};
/* An atomic and a slow conversion have one of these types in `flags`. */
typedef enum {
    PTX_T_NONE,
    PTX_T_PRED,
    PTX_T_B8,
    PTX_T_U8,
    PTX_T_S8,
    PTX_T_B16,
    PTX_T_U16,
    PTX_T_S16,
    PTX_T_F16,
    PTX_T_BF16,
    PTX_T_B32,
    PTX_T_U32,
    PTX_T_S32,
    PTX_T_F32,
    PTX_T_F16X2,
    PTX_T_BF16X2,
    PTX_T_B64,
    PTX_T_U64,
    PTX_T_S64,
    PTX_T_F64,
    PTX_TYPES
} ptx_type;
uint32_t ptx_type_size(ptx_type t); /* 0: a predicate */
ptx_type ptx_type_named(const char *name);

/* ---- checks; each returns where the host finds the bytes, NULL where the access was reported and does not take place
 * ---- */

uint8_t *ptx_reach(ptx_warp *w, int lane, uint64_t address, ptx_space space, uint32_t nbytes, bool writes, bool atomic);
/* Reports what lane `lane` did, with kernel, block, thread and line. */
void ptx_say(ptx_warp *w, int lane, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Looks for a race before lane `lane` makes a global access to nbytes. value: the bytes that a write writes; NULL: a
 * read. */
void ptx_global_race(ptx_warp *w, int lane, uint64_t address, const uint8_t *value, uint32_t nbytes, bool atomic);
extern bool ptx_races;             /* whether they are looked for; asked before each launch */
void ptx_global_sync(ptx_warp *w); /* an atomic or a fence: what other blocks wrote before is seen */

/* Values of 32 bits, and of 16. */
static inline float ptx_float_of(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}
static inline uint32_t ptx_bits_of(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return bits;
}
float ptx_half_to_float(uint16_t h);
uint16_t ptx_half_from_double(double v); /* to nearest even */
static inline float ptx_bf16_to_float(uint16_t h)
{
    return ptx_float_of((uint32_t)h << 16);
}
uint16_t ptx_bf16_from_double(double v);

#endif
