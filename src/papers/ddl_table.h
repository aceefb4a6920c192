/* SPDX-License-Identifier: Apache-2.0 */
/* ddl_table.h: a published table of measured throughputs against this model of a step: rows as published, constants of the machine they were
 * measured on, a prediction for each cell.
 *
 * Rows. Lines of a table in Markdown: | DNN | BS | CONNECTION | METHOD | 1 GPU | 4 GPUs | ... |, cells "925.020 +- 4.42" in samples/s of all
 * GPUs together; BS samples a GPU.
 *
 * A cell. Forward and backward take BS / (1-GPU column), shared out over the layers as the layer file has them; exchanges are scheduled by
 * the method's row (step_schedule.h). What a message of n bytes takes on P GPUs, g of them in a node:
 *   allreduce, P <= g   one ring inside:     2 (P - 1) hop + 2 (P - 1) / P n / rate      of `inside`
 *   allreduce, P > g    one ring over all:   the same, of the network: its slowest link is that between nodes
 *   servers             as many as nodes:    n / server_rate inside, and if P > g also n / server_rate of the network
 * rate = line * efficiency: what the wire has, and the share of it that was reached.
 * A network that Adam trains takes adam_us a tensor more in a step with an exchange: the host starts its kernels, tensor by tensor, when the
 * last exchange has ended; on one GPU it runs ahead of them. So say the published scripts: Horovod's train BERT by AdamW, ResNet-50 by
 * SGD, and those for parameter servers train all by SGD. A layer file may say the rule, else the constants know the networks.
 * No other constant. Threads: shared (pure). */
#ifndef TUTTI_DDL_TABLE_H
#define TUTTI_DDL_TABLE_H

#include "../base/arena.h"
#include "../metrics/layer_trace.h"
#include "../predict/play/step_schedule.h"

enum { TUTTI_DDL_COUNTS = 8, TUTTI_DDL_NETWORKS = 8 };

/* --- rows: ddl_rows.c --- */

typedef struct {
    const char *model, *connection, *method;
    int line, batch;
    double one;                                                  /* samples/s of one GPU */
    double measured[TUTTI_DDL_COUNTS], spread[TUTTI_DDL_COUNTS]; /* of all GPUs; NaN: no figure; spread 0: none given */
} tutti_ddl_row;

typedef struct {
    int ncounts, gpus[TUTTI_DDL_COUNTS]; /* of the columns beyond the first */
    tutti_ddl_row *rows;
    int nrows;
    tutti_arena arena;
} tutti_ddl_rows;

/* TUTTI_ERR_DATA names line and what is wrong with it. Lines that are no row of the table are not allowed behind its head. */
tutti_status tutti_ddl_rows_parse(const char *name, const char *text, size_t nbytes, tutti_ddl_rows *out,
                                  tutti_failure *err);
tutti_status tutti_ddl_rows_read(const char *path, tutti_ddl_rows *out, tutti_failure *err);
void tutti_ddl_rows_release(tutti_ddl_rows *r);

/* A line for each row whose own figures do not go together, and by which rule; "" = none. Rules look at measured figures alone:
 *   two networks alike   all cells beyond a node within 1 % of those of another connection, though not all near linear
 *   faster than linear   more than 0.5 % above as many times one GPU
 *   one node, two speeds a cell within a node more than 5 % from that of another connection, which it does not use
 *   overlap too small    within a node overlapping hides less than half of what could be hidden: of the row without it, the exchange or
 *                        two thirds of a step of one GPU, whichever is shorter. Then that GPU alone is no GPU of those runs
 *   merging that loses   MG-WFBP more than 2 % below WFBP-A2A */
void tutti_ddl_suspects(const tutti_ddl_rows *rows, int gpus_per_node, tutti_strbuf *out);

/* --- constants: ddl_constants.c --- */

typedef struct {
    const char *name;                           /* of the connection, as in the rows */
    double line, efficiency, server_efficiency; /* bytes/s; shares of it */
    double hop_us;                              /* of one step of the ring */
} tutti_ddl_network;

typedef struct {
    const char *made_by, *source, *model; /* the rows that they were fitted on: names with ", " between */
    const char *adam;                     /* networks of the rows that Adam trains: names with ", " between; "": none */
    double adam_us;                       /* a tensor, behind the last exchange, where it does */
    int64_t gpus_per_node;
    tutti_ddl_network inside, networks[TUTTI_DDL_NETWORKS];
    int nnetworks;
    tutti_arena arena;
} tutti_ddl_constants;

/* YAML, as printed. TUTTI_ERR_USAGE names line and key. */
tutti_status tutti_ddl_constants_parse(const char *name, const char *text, size_t nbytes, tutti_ddl_constants *out,
                                       tutti_failure *err);
tutti_status tutti_ddl_constants_read(const char *path, tutti_ddl_constants *out, tutti_failure *err);
void tutti_ddl_constants_print(const tutti_ddl_constants *c, tutti_strbuf *out);
void tutti_ddl_constants_release(tutti_ddl_constants *c);
/* -1: none of that name. */
int tutti_ddl_network_find(const tutti_ddl_constants *c, const char *connection);

/* --- cells: ddl_model.c --- */

typedef struct {
    const char *name, *schedule; /* "WFBP-A2A", "wfbp" */
    bool has_servers, is_judged; /* judged: counts in the last line; others are shown apart */
} tutti_ddl_method;
int tutti_ddl_method_count(void);
const tutti_ddl_method *tutti_ddl_method_at(int i);
const tutti_ddl_method *tutti_ddl_method_find(const char *name); /* NULL: none */

/* What a message takes on so many GPUs. */
tutti_exchange_cost tutti_ddl_cost(const tutti_ddl_constants *c, const tutti_ddl_network *network, bool has_servers,
                                   int gpus);
/* Whether Adam trains the model, by its layers or the constants. */
bool tutti_ddl_has_adam(const tutti_ddl_constants *c, const char *model, const tutti_layer_trace *layers);
/* Whether constants were fitted on rows of the model. */
bool tutti_ddl_is_fitted(const tutti_ddl_constants *c, const char *model);
/* Samples/s of all GPUs together. Whether Adam updates say the layers (rule). */
double tutti_ddl_predict(const tutti_ddl_constants *c, const tutti_ddl_network *network, const tutti_ddl_row *row,
                         const tutti_layer_trace *layers, int gpus);

/* --- the fit: ddl_fit.c --- */

typedef struct {
    const char *name;
    const tutti_layer_trace *layers;
} tutti_ddl_model;

/* Constants that make the squares of relative errors smallest, of the rows of these models alone (adam: as in tutti_ddl_constants): hop and efficiency from BSP-A2A and
 * WFBP-A2A, server_efficiency from BSP-PS. Cells within a node give `inside` and adam_us, the others their network's. TUTTI_ERR_DATA: there
 * are no such rows, or a network's line rate does not stand in its name ("10GbE ..."). Deterministic; cost: seconds. */
typedef struct {
    int gpus_per_node;
    const char *adam;
} tutti_ddl_given;
tutti_status tutti_ddl_fit(const tutti_ddl_rows *rows, const tutti_ddl_model *models, int nmodels,
                           const tutti_ddl_given *given, tutti_ddl_constants *out, tutti_failure *err);

#endif
