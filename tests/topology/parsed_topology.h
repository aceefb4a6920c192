/* SPDX-License-Identifier: Apache-2.0 */
/* parsed_topology.h: topologies that tests take as text. */
#ifndef PARSED_TOPOLOGY_H
#define PARSED_TOPOLOGY_H

#include "testing.h"

#include "tutti/topology.h"

static inline tutti_topology parsed(const char *text)
{
    tutti_topology t = {0};
    tutti_failure err = {0};
    if (tutti_topology_parse(text, &t, &err)) fail_msg("%s: %s", text, err.text);
    return t;
}

#endif
