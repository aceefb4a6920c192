/* SPDX-License-Identifier: Apache-2.0 */
/* page.h: a page of HTML that needs nothing else, no network and no script, in light and in dark: headings, tables,
 * legends, and figures of chart/. All texts are formats and are escaped; tags and attributes are not. Pure: the same
 * calls give the same bytes. Threads: owner. */
#ifndef TUTTI_PAGE_H
#define TUTTI_PAGE_H

#include <stdbool.h>

#include "../base/text/strbuf.h"

enum { TUTTI_PAGE_DEPTH = 8, TUTTI_PAGE_COLUMNS = 24 };

typedef struct {
    tutti_strbuf *out;               /* of the caller; what is drawn goes there too */
    char open[TUTTI_PAGE_DEPTH][12]; /* names of the elements that are open */
    char column[TUTTI_PAGE_COLUMNS]; /* of the table: what its heads begin with */
    int nopen, ncolumns, at;         /* at: the next cell of the row */
} tutti_page;

/* An empty page that appends to out, with its heading. */
tutti_page tutti_page_begin(const char *title, const char *heading, tutti_strbuf *out);
/* Closes all that is open. */
void tutti_page_end(tutti_page *p);

/* tag: a name, and attributes behind a space. At most TUTTI_PAGE_DEPTH may be open. */
void tutti_page_open(tutti_page *p, const char *tag);
void tutti_page_close(tutti_page *p); /* the last one that was opened */
void tutti_page_text(tutti_page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* One element that holds text alone. Of class `note` it is small and pale; a `div` of class `figures` is a grid of
 * them, each at least --least wide if the page is. */
void tutti_page_element(tutti_page *p, const char *tag, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* n names with their colours (NULL: 0, 1, ..), as squares, or as the lines that bands have. */
void tutti_page_legend(tutti_page *p, const char *const *names, const int *colours, int n, bool lines);

/* Opens a table under a title (NULL: none). heads: a name a column, with | between them. A column holds numbers, one
 * that begins with < words, one with << many words. */
void tutti_page_table(tutti_page *p, const char *title, const char *heads);
void tutti_page_table_end(tutti_page *p);
void tutti_page_row(tutti_page *p); /* opens the next one */
/* The next cells of the row, with tabs between them. What follows an end of line in a cell is a second line,
 * smaller. */
void tutti_page_cells(tutti_page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A cell with attributes of its own; of class `bad` it is red. */
void tutti_page_cell_as(tutti_page *p, const char *attributes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A name with the line that band `line` has in the charts. */
void tutti_page_cell_named(tutti_page *p, int line, const char *name);

#endif
