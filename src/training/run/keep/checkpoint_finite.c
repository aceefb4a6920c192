/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_finite.c: checks whether all numbers of a checkpoint are finite. A weight that is NaN or infinite makes
 * all others so in a step or two, so one is enough to reject the checkpoint. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint_impl.h"

/* True if no element has all exponent bits set. The loop has no branch, so that the compiler vectorises it. */
bool tutti_all_finite(const float *x, int64_t n)
{
    static const uint32_t EXPONENT = 0x7f800000U;
    uint32_t bad = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bad |= (bits & EXPONENT) == EXPONENT;
    }
    return !bad;
}

static bool find(const tutti_checkpoint *c, const float *values, bool is_state, const char *vector, char what[120])
{
    for (int i = 0; i < c->nparams; i++) {
        const tutti_param *p = &c->params[i];
        if (!tutti_checkpoint_stores(p, is_state)) continue;
        if (tutti_all_finite(values + c->offset[i], p->desc.elements)) continue;
        if (is_state)
            snprintf(what, 120, "%.20s of '%.80s'", vector, p->name);
        else
            snprintf(what, 120, "'%.80s'", p->name);
        return true;
    }
    return false;
}

bool tutti_checkpoint_find_bad(const tutti_checkpoint *c, bool own_alone, char what[120])
{
    if (!own_alone && find(c, c->weights, false, "weights", what)) return true;
    for (int s = 0; s < c->nstates && !own_alone; s++)
        if (find(c, c->state[s], true, c->state_name[s], what)) return true;
    for (int i = 0; i < c->nown; i++)
        if (find(c, c->own[i].values, c->own[i].is_state, c->own[i].name, what)) return true;
    return false;
}

/* ---- a checkpoint on disk ---- */

static tutti_status check_vector(const char *path, const char *file, tutti_failure *err)
{
    char *bytes;
    size_t nbytes;
    tutti_safetensors *tensors = NULL;
    tutti_status st = tutti_checkpoint_read_file(path, file, NULL, &bytes, &nbytes, err);
    if (st) return st;
    st = tutti_safetensors_parse(file, bytes, nbytes, &tensors, err);
    for (int i = 0; !st && i < tutti_safetensors_count(tensors); i++) {
        const tutti_tensor_ref *t = tutti_safetensors_at(tensors, i);
        if (!tutti_all_finite(t->data, tutti_shape_count(&t->shape)))
            st = tutti_fail(err, TUTTI_ERR_DATA, "%s/%s: not finite: tensor '%s' holds NaN or infinite numbers", path,
                            file, t->name);
    }
    tutti_safetensors_destroy(tensors);
    free(bytes);
    return st;
}

tutti_status tutti_checkpoint_check_finite(const char *path, tutti_failure *err)
{
    tutti_manifest m;
    tutti_status st = tutti_manifest_read(path, &m, err);
    for (int i = 0; i < m.nfiles && !st; i++)
        if (strstr(m.files[i].name, ".safetensors")) st = check_vector(path, m.files[i].name, err);
    return st;
}

tutti_status tutti_checkpoint_refuse_bad(const char *dir, const char *path, tutti_failure *err)
{
    tutti_failure why = {0};
    tutti_checkpoint_entry *entries;
    int n, good = 0;
    if (!tutti_checkpoint_check_finite(path, &why)) return TUTTI_OK;
    tutti_status st = tutti_checkpoint_list(dir, &entries, &n, err);
    if (st) return st;
    while (good < n && (tutti_checkpoint_verify(entries[good].path, NULL) ||
                        tutti_checkpoint_check_finite(entries[good].path, NULL)))
        good++;
    if (good < n)
        st = tutti_fail(err, TUTTI_ERR_DATA,
                        "%s; %s is the newest whose numbers are all finite: remove those after it to go on from it, "
                        "or begin at it with --init %s and another --out",
                        why.text, entries[good].path, entries[good].path);
    else
        st =
            tutti_fail(err, TUTTI_ERR_DATA, "%s; no other checkpoint there is good: start over with --fresh", why.text);
    tutti_checkpoint_list_release(entries, n);
    return st;
}
