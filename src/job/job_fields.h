/* SPDX-License-Identifier: Apache-2.0 */
/* job_fields.h: struct tutti_job: the fields of a job; job_table.c has their keys, defaults and help. */
#ifndef TUTTI_JOB_FIELDS_H
#define TUTTI_JOB_FIELDS_H

#include "../base/text/options.h"
#include "../data/dataset.h"
#include "../training/run/train.h"
#include "tutti/job.h"
#include "tutti/topology.h"

typedef enum { TUTTI_REDUCTION_FAST, TUTTI_REDUCTION_CANONICAL } tutti_reduction;

typedef enum { TUTTI_ON_ANY, TUTTI_ON_CPU, TUTTI_ON_CUDA } tutti_device_wish;

/* AUTO: what job_choice.h finds; until then, and where nothing is chosen, what stands next. */
typedef enum { TUTTI_TURN_AUTO, TUTTI_TURN_READY, TUTTI_TURN_PRIORITY } tutti_turn_rule;
typedef enum { TUTTI_UPDATE_AUTO, TUTTI_UPDATE_SHARDED, TUTTI_UPDATE_REPLICATED } tutti_update_place;
typedef enum { TUTTI_UPDATE_ANYTIME, TUTTI_UPDATE_LATE, TUTTI_UPDATE_EARLY } tutti_update_time;

enum {
    TUTTI_JOB_MAX_RULE_KEYS = 16,
    TUTTI_JOB_MAX_METHOD_KEYS = 16,
    TUTTI_JOB_MAX_FIELDS = 128,
    TUTTI_JOB_NAMES = 240,
    TUTTI_JOB_PRESET_KEYS = 8,
    TUTTI_JOB_MAX_THREADS = 1024
};

typedef enum {
    TUTTI_BUCKETS_AUTO,
    TUTTI_BUCKETS_SIZE,
    TUTTI_BUCKETS_SOONEST,
    TUTTI_BUCKETS_LAYER,
    TUTTI_BUCKETS_ONE,
    TUTTI_BUCKETS_CUT
} tutti_bucket_rule;

/* A key concerns one of these. Whether the job of a resumed run may change the key follows from it. */
typedef enum {
    TUTTI_CONCERNS_WEIGHTS, /* what the weights become: never */
    TUTTI_CONCERNS_LENGTH,  /* when the run ends: where the rate does not depend on the end */
    TUTTI_CONCERNS_KERNELS, /* what computes: where bits are not the job's own (reduction: fast) */
    TUTTI_CONCERNS_MACHINE, /* ranks, processors, what travels: always; at most sums are rounded otherwise (said when it
                             * happens) */
    TUTTI_CONCERNS_MODEL,   /* always: models are compared by their text */
    TUTTI_CONCERNS_RECORD,  /* what is tested, kept and told: always */
} tutti_concern;

/* The configurations of the modules hold what keys say to them; tutti_job_plan_config, tutti_job_update and their kin,
 * and the session, add what follows from several keys, or from the seat of a rank. The rest is what no module has in
 * that form. */
struct tutti_job {
    const char *model; /* shipped name or path of a model file */
    tutti_dataset_config data;
    tutti_graph_config graph;
    tutti_plan_config plan;
    tutti_train_config train;
    tutti_reals data_shape; /* data.shape, whole numbers */
    double epochs;          /* one of epochs and train.nsteps is positive, the other 0 */
    struct {
        int preset;                                 /* optimiser.preset: tutti_job_preset_name */
        int rule;                                   /* optimiser.rule: tutti_rule_at */
        double rule_value[TUTTI_JOB_MAX_RULE_KEYS]; /* of the keys of all rules: tutti_rule_key_at */
        bool rule_switch[TUTTI_JOB_MAX_RULE_KEYS];  /* ... of those that are true or false, instead */
        const char *said_rate, *said_decay;         /* not keys: where optimiser.groups.rate and .decay were said */
    } optimiser;
    struct {
        const char *name;                                    /* sync-sgd */
        tutti_method_value value[TUTTI_JOB_MAX_METHOD_KEYS]; /* of the keys of all methods: tutti_method_key_at */
    } method;
    int64_t ranks, threads; /* threads a rank */
    int device;             /* tutti_device_wish */
    const char *partition;  /* none | numa | l3 | number of groups; ranks and threads that are not given go by it */
    struct {
        const char *tuned; /* kernels.tuned: a tune file, NULL = none */
    } kernels;
    bool fuse;              /* tutti_model_fuse */
    const char *loss_scale; /* auto | dynamic | number, as tutti_job_loss_scale reads it */
    int reduction;          /* tutti_reduction */
    struct {
        const char *topology; /* exchange.topology: a line for rows that are bound to one */
        int buckets;          /* exchange.buckets: auto|size|soonest|layer|one|cut (tutti_bucket_rule) */
        int order;            /* exchange.order: auto|ready|priority (tutti_turn_rule) */
        int update;           /* exchange.update: auto|sharded|replicated (tutti_update_place) */
        int update_when;      /* exchange.update_when: auto|late|early (tutti_update_time) */
        double deadline_s;
    } exchange;
    struct {
        tutti_texts layers;                    /* parallel.layers: dense layers that ranks share */
        const char *groups;                    /* parallel.groups: auto | a number, as tutti_job_groups reads it */
        const char *said_layers, *said_groups; /* not keys: where they were said */
    } parallel;
    /* not keys */
    bool ranks_by_partition; /* nobody has said how many */
    const char *said_partition;
    const char *folder; /* of the job file; tutti_job_load has made model and data paths absolute */
    tutti_arena arena;
};

/* Every key of a job: its own, and those of the rules and the methods. */
typedef struct {
    tutti_field field[TUTTI_JOB_MAX_FIELDS];
    tutti_concern concerns[TUTTI_JOB_MAX_FIELDS]; /* a field */
    char rules[TUTTI_JOB_NAMES], sets[TUTTI_JOB_NAMES], presets[TUTTI_JOB_NAMES], methods[TUTTI_JOB_NAMES],
        kernels[TUTTI_JOB_NAMES]; /* what names there are to choose from */
    tutti_field_table table;
} tutti_job_fields;
/* Makes the table in the caller's memory and returns it. */
const tutti_field_table *tutti_job_fields_list(tutti_job_fields *space);
/* Keys whose values a checkpoint may have others of, for tutti_train_config.free_keys; the caller's (free()). */
const char **tutti_job_free_keys(const tutti_job *job);
/* Of the key that tutti_rule_key_at(i) is; of a switch 1 or 0. */
double tutti_job_rule_value(const tutti_job *job, int i);
/* A row of the table of methods by what a user calls it. TUTTI_ERR_USAGE names the nearest one. */
tutti_status tutti_job_find_method(const char *name, const tutti_method_row **out, tutti_failure *err);
/* The rule that weights move by: the job's, or the plain one of it (tutti_rule_row.plain) where the method is plain. */
const tutti_rule_row *tutti_job_rule(const tutti_job *job);
/* That rule, and what the job says to it. */
tutti_update tutti_job_update(const tutti_job *job);
/* How the loss is scaled; start is NaN where the key is no number above 0. */
tutti_loss_scale tutti_job_loss_scale(const tutti_job *job);

/* How the method's centre moves with so many workers (0 = the job's); rho is NaN where the key is no number of 0 or
 * more. */
tutti_centre tutti_job_centre(const tutti_job *job, int nranks);

/* What the keys of `data` say to a set; its numbers stay the job's. */
tutti_dataset_config tutti_job_data_config(const tutti_job *job);

/* Where values came from, so that a refusal can name the place. */
typedef struct {
    const char *name;
    const tutti_yaml_node *root;
    const char *const *overrides;
    int noverrides;
    int nlocal;     /* ranks of this host, 0 = all */
    bool any_ranks; /* what goes by their number is left to who plans for one */
} tutti_job_source;

/* The override "key=value" that sets `key` last, or NULL. */
const char *tutti_job_source_override(const tutti_job_source *source, const char *key);
/* Fills in plan.topology; a line that is none is TUTTI_ERR_USAGE with its place. */
tutti_status tutti_job_read_topology(tutti_job *job, const tutti_job_source *source, tutti_failure *err);
/* Where a key got its value, and the key, as words that a refusal begins with: "job.yaml: line 4: init.skip". The
 * arena's. */
const char *tutti_job_said(const tutti_job_source *source, const char *key, tutti_arena *arena);
/* Whether the file or an override says the key. */
bool tutti_job_is_given(const tutti_job_source *source, const char *key);
/* Presets (job_presets.c): "none" is the first. What the one that is asked for sets and the job does not say itself, as
 * overrides, with their number; whether it sets a key; what it sets and where that is from, nothing of "none". */
const char *tutti_job_preset_name(int i);
int tutti_job_preset_overrides(const tutti_job_source *source, const char *out[TUTTI_JOB_PRESET_KEYS]);
bool tutti_job_preset_sets(const tutti_job_source *source, const char *key);
void tutti_job_preset_describe(const tutti_job *job, tutti_strbuf *out);
/* Numbers of optimiser.groups that are none; patterns that fit no parameter of the graph (job_groups.c).
 * TUTTI_ERR_USAGE with the place. */
tutti_status tutti_job_check_groups(const tutti_job *job, tutti_failure *err);
tutti_status tutti_job_match_groups(const tutti_job *job, const tutti_graph *graph, tutti_failure *err);
/* Hybrid parallelism (job_parallel.c): into how many groups of ranks; 0 = auto, -1 = it is no number of 1 or more. */
int tutti_job_groups(const tutti_job *job);
/* What of the keys does not go together, said of the key that is named in *key; whether the ranks make so many
 * groups. */
tutti_status tutti_job_check_parallel(const tutti_job *job, const char **key, tutti_failure *err);
/* The ranks that share layers of a model, of its file and as it is run, for a graph of it: as many groups as the job
 * says, or where a rank receives least. TUTTI_ERR_USAGE with the place. */
tutti_status tutti_job_split(const tutti_job *job, const tutti_model *as_written, const tutti_model *model, int nranks,
                             const tutti_graph_config *config, tutti_split_layers *out, tutti_failure *err);
/* Fills in ranks and threads that go by a partition of this machine (job_partition.c); TUTTI_ERR_USAGE with the place.
 * nlocal: ranks of this host, 0 = all of them. */
tutti_status tutti_job_share_out(tutti_job *job, const tutti_job_source *source, int nlocal, tutti_failure *err);
/* As tutti_job_load, where somebody has started ranks on several hosts, nlocal of them on this one. */
tutti_status tutti_job_load_here(const char *path, const char *const *overrides, int noverrides, int nlocal,
                                 tutti_job **out, tutti_failure *err);
/* The longer of the two names of a key that has a short one ("init" for init.from), if it was given so, else the short
 * one. */
const char *tutti_job_given_name(const tutti_job_source *source, const char *key, const char *shorter);
/* As tutti_job_load, for who plans for rank counts of his own: the job's is not held against batch, slots, algorithm or
 * groups. */
tutti_status tutti_job_load_for_any(const char *path, const char *const *overrides, int noverrides, tutti_job **out,
                                    tutti_failure *err);
/* What must fit together across keys; TUTTI_ERR_USAGE names the line or the override that can be corrected. */
tutti_status tutti_job_check(const tutti_job *job, const tutti_job_source *source, tutti_failure *err);

#endif
