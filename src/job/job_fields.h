/* SPDX-License-Identifier: Apache-2.0 */
/* job_fields.h: struct tutti_job: the fields of a job. job_table.c has their keys, defaults and help; job_check.c
 * checks that they fit together. */
#ifndef TUTTI_JOB_FIELDS_H
#define TUTTI_JOB_FIELDS_H

#include "../base/text/options.h"
#include "../data/dataset.h"
#include "../training/run/train.h"
#include "tutti/job.h"
#include "tutti/topology.h"

typedef enum { TUTTI_REDUCTION_FAST, TUTTI_REDUCTION_CANONICAL } tutti_reduction;

typedef enum { TUTTI_ON_ANY, TUTTI_ON_CPU, TUTTI_ON_CUDA } tutti_device_wish;

/* AUTO: job_choice.h chooses the value. Until then, and if nothing is chosen, AUTO means the value that follows it in
 * the list. */
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

/* The thing that a key concerns. It decides whether a resumed run may change the key. */
typedef enum {
    TUTTI_CONCERNS_WEIGHTS, /* the weights' values: a resumed run may never change it */
    TUTTI_CONCERNS_LENGTH,  /* when the run ends: it may be changed if the rate does not depend on the end */
    /* which kernels compute: it may be changed if results may differ in their bits (reduction: fast) */
    TUTTI_CONCERNS_KERNELS,
    /* ranks, processors, exchanges: it may always be changed; at most sums are rounded otherwise (the run
     * reports it) */
    TUTTI_CONCERNS_MACHINE,
    /* the model: the key itself may always be changed, because the text of the model is compared instead */
    TUTTI_CONCERNS_MODEL,
    TUTTI_CONCERNS_RECORD, /* what is tested, kept and reported: it may always be changed */
} tutti_concern;

/* The configurations of the modules (data, graph, plan, train) hold the values of those modules' keys. Functions such
 * as tutti_job_plan_config and tutti_job_update, and the session, add values that follow from several keys or from a
 * rank's place. The other fields hold keys that no module's configuration has. */
struct tutti_job {
    const char *model; /* name of a model that comes with the program, or path of a model file */
    tutti_dataset_config data;
    tutti_graph_config graph;
    tutti_plan_config plan;
    tutti_train_config train;
    tutti_reals data_shape; /* data.shape: sizes of a sample's dimensions, whole numbers */
    double epochs;          /* exactly one of epochs and train.nsteps is positive; the other is 0 */
    struct {
        int preset;                                 /* optimiser.preset: index for tutti_job_preset_name */
        int rule;                                   /* optimiser.rule: index for tutti_rule_at */
        double rule_value[TUTTI_JOB_MAX_RULE_KEYS]; /* values of the keys of all rules: tutti_rule_key_at */
        bool rule_switch[TUTTI_JOB_MAX_RULE_KEYS];  /* values of the keys of rules that are true or false */
        const char *said_rate, *said_decay;         /* not keys: places in the job file of optimiser.groups.rate and
                                                     * .decay, for messages */
    } optimiser;
    struct {
        const char *name; /* name of the method, for example sync-sgd */
        /* values of the keys of all methods: tutti_method_key_at */
        tutti_method_value value[TUTTI_JOB_MAX_METHOD_KEYS];
    } method;
    int64_t ranks, threads; /* threads: threads of each rank */
    int device;             /* the value of the key `device`, a tutti_device_wish */
    const char *partition;  /* none | numa | l3 | number of groups; it sets ranks and threads that are not given */
    struct {
        const char *tuned; /* kernels.tuned: a tune file, NULL = none */
    } kernels;
    bool fuse;              /* true: layers are merged (tutti_model_fuse) */
    const char *loss_scale; /* auto | dynamic | number, as tutti_job_loss_scale reads it */
    int reduction;          /* the value of the key `reduction`, a tutti_reduction */
    struct {
        const char *topology; /* exchange.topology: a line for algorithms that are bound to a topology */
        int buckets;          /* exchange.buckets: auto|size|soonest|layer|one|cut (tutti_bucket_rule) */
        int order;            /* exchange.order: auto|ready|priority (tutti_turn_rule) */
        int update;           /* exchange.update: auto|sharded|replicated (tutti_update_place) */
        int update_when;      /* exchange.update_when: auto|late|early (tutti_update_time) */
        double deadline_s;
    } exchange;
    struct {
        tutti_texts layers;                    /* parallel.layers: dense layers that ranks share; [auto] = chosen */
        const char *groups;                    /* parallel.groups: auto | a number, as tutti_job_groups reads it */
        const char *said_layers, *said_groups; /* not keys: places in the job file of parallel.layers and
                                                * parallel.groups, for messages */
    } parallel;
    /* the following are not keys */
    bool ranks_by_partition; /* true if the partition has set the number of ranks */
    const char *said_partition;
    const char *folder; /* folder of the job file; tutti_job_load has made model and data paths absolute */
    tutti_arena arena;
};

/* All keys of a job: its own, and those of rules and methods. */
typedef struct {
    tutti_field field[TUTTI_JOB_MAX_FIELDS];
    tutti_concern concerns[TUTTI_JOB_MAX_FIELDS]; /* what the key of each field concerns */
    /* lists of the names that such keys as optimiser.rule may have */
    char rules[TUTTI_JOB_NAMES], sets[TUTTI_JOB_NAMES], presets[TUTTI_JOB_NAMES], methods[TUTTI_JOB_NAMES],
        kernels[TUTTI_JOB_NAMES];
    tutti_field_table table;
} tutti_job_fields;
/* Makes the table in the caller's memory `space` and returns it. */
const tutti_field_table *tutti_job_fields_list(tutti_job_fields *space);
/* Returns the keys that may differ from a checkpoint's, for tutti_train_config.free_keys; the caller frees the
 * array. */
const char **tutti_job_free_keys(const tutti_job *job);
/* Returns the value of the key tutti_rule_key_at(i); 1 or 0 for a switch. */
double tutti_job_rule_value(const tutti_job *job, int i);
/* Finds the row of a method by the name that a user gives. */
tutti_status tutti_job_find_method(const char *name, const tutti_method_row **out, tutti_failure *err);
/* Returns the rule that moves weights: the job's, or its plain form (tutti_rule_row.plain) if the method is plain. */
const tutti_rule_row *tutti_job_rule(const tutti_job *job);
/* Returns the rule of tutti_job_rule with the job's values for its keys. */
tutti_update tutti_job_update(const tutti_job *job);
/* Returns how the loss is scaled; start is NaN if the key is not a number above 0. */
tutti_loss_scale tutti_job_loss_scale(const tutti_job *job);

/* Returns how the method's centre moves with `nranks` workers (0 = the job's number); rho is NaN if the key is not a
 * number of 0 or more. */
tutti_centre tutti_job_centre(const tutti_job *job, int nranks);

/* Returns the configuration of the data set from the keys of `data`; its numbers still belong to the job. */
tutti_dataset_config tutti_job_data_config(const tutti_job *job);

/* Where values came from, so that an error message can name the place. */
typedef struct {
    const char *name;
    const tutti_yaml_node *root;
    const char *const *overrides;
    int noverrides;
    int nlocal;     /* number of ranks on this host, 0 = all */
    bool any_ranks; /* true: checks that depend on the number of ranks are left to the caller */
} tutti_job_source;

/* Returns the last override "key=value" that sets `key`, or NULL. */
const char *tutti_job_source_override(const tutti_job_source *source, const char *key);
/* Sets plan.topology from exchange.topology; TUTTI_ERR_USAGE with the place if its line is no topology. */
tutti_status tutti_job_read_topology(tutti_job *job, const tutti_job_source *source, tutti_failure *err);
/* Returns where a key got its value, and the key, as the beginning of an error message: "job.yaml: line 4: init.skip".
 * The text is in `arena`. */
const char *tutti_job_said(const tutti_job_source *source, const char *key, tutti_arena *arena);
/* True if the file or an override gives the key. */
bool tutti_job_is_given(const tutti_job_source *source, const char *key);
/* Presets (job_presets.c). tutti_job_preset_name: the i-th name; "none" is the first. _overrides: writes the values
 * that the chosen preset sets and the job does not give, as overrides, and returns how many. _sets: true if the preset
 * sets a key. _describe: prints what the preset sets and where that is from; nothing for "none". */
const char *tutti_job_preset_name(int i);
int tutti_job_preset_overrides(const tutti_job_source *source, const char *out[TUTTI_JOB_PRESET_KEYS]);
bool tutti_job_preset_sets(const tutti_job_source *source, const char *key);
void tutti_job_preset_describe(const tutti_job *job, tutti_strbuf *out);
/* Refuses values of optimiser.groups that are not numbers, and patterns that match no parameter of the graph
 * (job_groups.c). TUTTI_ERR_USAGE with the place. */
tutti_status tutti_job_check_groups(const tutti_job *job, tutti_failure *err);
tutti_status tutti_job_match_groups(const tutti_job *job, const tutti_graph *graph, tutti_failure *err);
/* Hybrid parallelism (job_parallel.c): number of groups that the ranks form; 0 = auto, -1 = the key is not a number of
 * 1 or more. */
int tutti_job_groups(const tutti_job *job);
/* True if parallel.layers is auto. Until the choice has given names (job_choice.h), no layer is shared. */
bool tutti_job_shares_auto(const tutti_job *job);
/* True if the job names layers that ranks share. */
bool tutti_job_shares(const tutti_job *job);
/* Refuses keys that do not go together, and ranks that cannot form the job's number of groups; *key is the key to
 * blame. */
tutti_status tutti_job_check_parallel(const tutti_job *job, const char **key, tutti_failure *err);
/* Decides which ranks share which layers, for a graph of the model. as_written: the model as in its file; model: the
 * model as it is run. The number of groups is the job's, or the number with which a rank receives fewest elements.
 * TUTTI_ERR_USAGE with the place. */
tutti_status tutti_job_split(const tutti_job *job, const tutti_model *as_written, const tutti_model *model, int nranks,
                             const tutti_graph_config *config, tutti_split_layers *out, tutti_failure *err);
/* Fills in ranks and threads that follow from a partition of this machine (job_partition.c); TUTTI_ERR_USAGE with the
 * place. nlocal: ranks on this host, 0 = all of them. */
tutti_status tutti_job_share_out(tutti_job *job, const tutti_job_source *source, int nlocal, tutti_failure *err);
/* Works as tutti_job_load for ranks that were started on several hosts, nlocal of them on this one. */
tutti_status tutti_job_load_here(const char *path, const char *const *overrides, int noverrides, int nlocal,
                                 tutti_job **out, tutti_failure *err);
/* For a key with a short name ("init" for init.from): returns the longer name if the job used it, else the short
 * one. */
const char *tutti_job_given_name(const tutti_job_source *source, const char *key, const char *shorter);
/* Works as tutti_job_load for callers that plan for rank counts of their own: the job's count is not checked against
 * batch, slots, algorithm or groups. */
tutti_status tutti_job_load_for_any(const char *path, const char *const *overrides, int noverrides, tutti_job **out,
                                    tutti_failure *err);
/* Checks what must fit together across keys; TUTTI_ERR_USAGE names the line or the override to correct. */
tutti_status tutti_job_check(const tutti_job *job, const tutti_job_source *source, tutti_failure *err);

#endif
