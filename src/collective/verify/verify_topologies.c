/* SPDX-License-Identifier: Apache-2.0 */
/* verify_topologies.c: the topologies on which algorithms that need one are proved. */
#include "../../base/arena.h"
#include "verify.h"

static const char *const texts[] = {
    "dgx1p",
    "dgx1v",
    "dgx1v,gpus=0.1.2",
    "dgx1v,gpus=1.4.5.7",
    "dgx1p,gpus=0.1.2.3.5",
    "dgx2",
    "pcie",
    "torus,x=4,y=4",
    "torus,x=2,y=3,z=4",
    "cluster,hosts=2,ranks=4",
    "bigraph",
    "bigraph,hosts=2",
    "fat-tree",
};
enum { NTEXTS = sizeof texts / sizeof texts[0] };

tutti_topology *tutti_verify_topologies(int *n)
{
    tutti_topology *list = tutti_alloc(sizeof *list * NTEXTS);
    *n = 0;
    for (int i = 0; i < NTEXTS; i++)
        if (tutti_topology_parse(texts[i], &list[*n], NULL) == TUTTI_OK) ++*n;
    return list;
}
