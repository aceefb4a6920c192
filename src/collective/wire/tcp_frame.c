/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_frame.c: validates heads of TCP frames, and makes checksums of heads and bytes (xxh3, 32 of its bits) if they
 * were asked for.
 *
 * The head is validated before any of its bytes are received. TCP's own sum has 16 bits and is made anew by middleboxes
 * and network cards, so it does not find errors in their memory. */
#include "../../base/hash.h"
#include "tcp_impl.h"

static uint32_t sum_of_head(const tcp_head *head)
{
    tcp_head h = *head;
    h.head_sum = 0;
    return (uint32_t)tutti_hash(&h, sizeof h);
}

static bool has_body(const tcp_head *h)
{
    return h->kind == TUTTI_TCP_PUT || h->kind == TUTTI_TCP_ANSWER;
}

void tutti_tcp_seal(const tcp_wire *w, tcp_head *head, const void *bytes)
{
    head->magic = TUTTI_TCP_MAGIC;
    head->head_sum = head->body_sum = 0;
    if (!w->checksum) return;
    if (has_body(head)) head->body_sum = (uint32_t)tutti_hash(bytes, head->nbytes);
    head->head_sum = sum_of_head(head);
}

const char *tutti_tcp_judge_head(const tcp_wire *w, const tcp_head *h)
{
    if (w->checksum && h->head_sum != sum_of_head(h))
        return "the head of a message was damaged on its way (its checksum is wrong)";
    if (h->magic != TUTTI_TCP_MAGIC) return "what came is not a message of this wire";
    if (h->kind < TUTTI_TCP_PUT || h->kind > TUTTI_TCP_BYE) return "there is no such message";
    if (!w->checksum && (h->head_sum || h->body_sum)) return "a message has checksums and nobody asked for them";
    return NULL;
}

bool tutti_tcp_body_is_whole(const tcp_wire *w, const tcp_head *head, const void *bytes)
{
    return !w->checksum || !has_body(head) || head->body_sum == (uint32_t)tutti_hash(bytes, head->nbytes);
}
