/* SPDX-License-Identifier: Apache-2.0 */
/* coll_pack.h: what the two forms of `tutti coll pack` share. Threads: owner. */
#ifndef TUTTI_COLL_PACK_H
#define TUTTI_COLL_PACK_H

#include "../../collective/pack/packers.h"
#include "../../collective/pack/packing_of.h"

typedef struct {
    tutti_packing_use use;
    int32_t root;
    tutti_fewest_options fewest;
} tutti_pack_question;

/* `tutti coll pack KIND --subsets` (coll_pack_table.c): a line for each class of subsets of 3 to 8 GPUs that NVLinks join. */
tutti_status tutti_coll_pack_table(const tutti_topology *machine, const tutti_pack_question *q, tutti_failure *err);

/* `tutti coll pack KIND --channels BYTES` (coll_pack_channels.c). setup_s: before PCIe can be used beside NVLink. */
tutti_status tutti_coll_pack_channels(const tutti_topology *machine, const tutti_pack_question *q, double bytes,
                                      double setup_s, tutti_failure *err);

#endif
