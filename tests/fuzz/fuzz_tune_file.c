/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tune_file.c: any bytes as a tune file, as they are and with the checksum that they would have: refused with
 * words, or read, and then printed and read again to the same text; every tree answers. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/tune/tune_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void ask_trees(const tutti_tune_file *f)
{
    const double low[TUTTI_TREE_FEATURES] = {0}, high[TUTTI_TREE_FEATURES] = {1e300, 1e300, 1e300};
    for (int i = 0; i < f->ntrees; i++)
        if (!f->tree[i].way[tutti_choice_tree_ask(&f->tree[i].tree, low)] ||
            !f->tree[i].way[tutti_choice_tree_ask(&f->tree[i].tree, high)])
            abort();
}

static void print_again(tutti_tune_file *f)
{
    tutti_tune_file g;
    tutti_strbuf first = {0}, second = {0};
    tutti_tune_file_print(f, &first);
    if (tutti_tune_file_parse("printed", first.text, first.length, &g, NULL)) abort();
    tutti_tune_file_print(&g, &second);
    if (strcmp(first.text, second.text) != 0) abort();
    tutti_tune_file_release(&g);
    tutti_strbuf_release(&first);
    tutti_strbuf_release(&second);
}

static void read_text(const char *text, size_t n)
{
    tutti_tune_file f;
    tutti_failure err = {0};
    if (tutti_tune_file_parse("fuzz", text, n, &f, &err)) {
        if (!err.text[0]) abort();
        return;
    }
    ask_trees(&f);
    print_again(&f);
    tutti_tune_file_release(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    tutti_strbuf text = {0};
    tutti_strbuf_add(&text, (const char *)bytes, n);
    tutti_strbuf_add(&text, "", 0);
    read_text(text.text, text.length);
    tutti_tune_file_seal(&text);
    read_text(text.text, text.length);
    tutti_strbuf_release(&text);
    return 0;
}
