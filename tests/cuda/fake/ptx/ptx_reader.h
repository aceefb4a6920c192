/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_reader.h: what reads the body of a function: names that are in scope, operands, instructions that it makes. */
#ifndef FAKE_PTX_READER_H
#define FAKE_PTX_READER_H

#include "ptx_scan.h"

typedef enum { PTX_SYM_REGISTER, PTX_SYM_MEMORY } ptx_symbol_kind;
typedef struct {
    const char *name;
    size_t length;
    uint32_t count; /* %r<5>: five registers whose names begin so; 0: this name */
    ptx_symbol_kind kind;
    ptx_type type;     /* of registers */
    uint32_t at, step; /* registers: the first one's offset, and from one to the next */
    ptx_space space;   /* memory: where, and its address there */
    uint64_t address;
    bool dynamic;
} ptx_symbol;

typedef struct {
    const char *name;
    uint32_t pc; /* of a label */
    bool table;  /* .branchtargets: in `extra` from pc on, so many: */
    uint32_t ntargets;
} ptx_label;
typedef struct {
    const char *name;
    uint32_t index, line;
    bool in_extra; /* otherwise an instruction's target */
} ptx_pending;

typedef enum {
    PTX_OPD_NONE,
    PTX_OPD_REGISTER,
    PTX_OPD_NUMBER,
    PTX_OPD_ADDRESS,
    PTX_OPD_LIST,
    PTX_OPD_SINK
} ptx_operand_kind;
typedef struct {
    ptx_operand_kind kind;
    ptx_type type; /* of a register */
    uint32_t at;
    uint64_t bits;   /* number, address */
    ptx_space space; /* address */
    bool dynamic, negated;
    uint32_t n; /* list */
    struct {
        ptx_operand_kind kind;
        ptx_type type;
        uint32_t at;
        uint64_t bits;
    } parts[PTX_EXTRA];
} ptx_operand;

/* An address in memory is what register `at` holds, and imm. */
typedef struct {
    ptx_space space;
    uint32_t at;
    bool wide, constant; /* the register has 64 bits; it is no variable */
    int64_t imm;
} ptx_address;

typedef struct {
    ptx_module *m;
    ptx_function *f;
    ptx_symbol *symbols;
    ptx_label *labels;
    ptx_pending *pendings;
    uint32_t nsymbols, nlabels, npendings;
    uint32_t symbol_floor, label_floor; /* what an inlined function sees */
    uint32_t pos, depth, line;
    uint32_t register_at, local_at, shared_at;
    int32_t guard;
    uint32_t guard_not;
    char opcode[128];
    char parts[16][24]; /* of the opcode */
    int nparts;
    bool failed;
} ptx_reader;

/* ---- tokens ---- */
const ptx_token *ptx_look(ptx_reader *r);
bool ptx_take(ptx_reader *r, char mark); /* takes it if it is next */
bool ptx_want(ptx_reader *r, char mark); /* otherwise fails */
bool ptx_fail(ptx_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool ptx_is(const ptx_reader *r, const char *base); /* the opcode begins so */
bool ptx_has(const ptx_reader *r, const char *part);
ptx_type ptx_last_type(const ptx_reader *r); /* with which the opcode ends */
void ptx_skip_statement(ptx_reader *r);      /* with its ';' */

/* ---- names, registers ---- */
void ptx_add_symbol(ptx_reader *r, const ptx_symbol *s);
const ptx_symbol *ptx_symbol_named(ptx_reader *r, const char *name,
                                   uint32_t *at); /* at: of the register that it names */
uint32_t ptx_new_register(ptx_reader *r, uint32_t size);
uint32_t ptx_constant_register(ptx_reader *r, uint32_t size, uint64_t bits, bool dynamic);
uint32_t ptx_special_register(ptx_reader *r, int which);
uint32_t ptx_new_extra(ptx_reader *r, const uint32_t *values, uint32_t n);
void *ptx_grown(void *at, uint32_t have, size_t each); /* room for one more; ends the process without memory */

/* ---- operands ---- */
bool ptx_operand_read(ptx_reader *r, ptx_type t, ptx_operand *out);
/* Reads [register+imm] or [name+imm] into p. p->space is the opcode's at first; a name's space takes its place. */
bool ptx_address_read(ptx_reader *r, ptx_address *p);
/* Takes part n of a list; an operand that is not a list is its own part. */
ptx_operand ptx_part_of(const ptx_operand *o, uint32_t n);
/* Finds the register that holds a source as `size` bytes (0: a predicate). */
bool ptx_source(ptx_reader *r, const ptx_operand *o, uint32_t size, uint32_t *at);
/* Finds the register for a result of `size` bytes, which ptx_result_done brings into the operand behind the
 * instruction. */
bool ptx_result(ptx_reader *r, const ptx_operand *o, uint32_t size, uint32_t *at);
void ptx_result_done(ptx_reader *r, const ptx_operand *o, uint32_t at, uint32_t size, bool is_signed);

/* ---- instructions ---- */
ptx_inst *ptx_emit(ptx_reader *r, ptx_run *run);
ptx_inst *ptx_emit_row(ptx_reader *r, const char *name, uint32_t d, uint32_t a, uint32_t b);
bool ptx_is_signed(ptx_type t);
bool ptx_wait_for_label(ptx_reader *r, uint32_t index, bool in_extra); /* takes a name */

bool ptx_read_body(ptx_module *m, ptx_function *f);
bool ptx_read_call(ptx_reader *r);                /* ptx_body.c */
bool ptx_read_instruction(ptx_reader *r);         /* ptx_decode.c */
bool ptx_read_table_row(ptx_reader *r);           /* ptx_decode.c */
bool ptx_read_memory(ptx_reader *r, bool *mine);  /* ptx_decode_memory.c */
bool ptx_read_control(ptx_reader *r, bool *mine); /* ptx_decode_control.c */
/* A declaration of variables in memory, `.align 4 .b8 name[12]`, without values. */
typedef struct {
    const char *name;
    uint32_t align, size;
    ptx_type type;
    bool open; /* [] */
} ptx_declared;
bool ptx_declaration(const ptx_module *m, uint32_t *pos, ptx_declared *out);

#endif
