/* SPDX-License-Identifier: Apache-2.0 */
/* page.h: a page of HTML that needs no network and no script, in light and in dark: headings, tables, legends, and
 * charts of chart/. All texts are formats and are escaped; tags and attributes are not. Pure: the same calls give the
 * same bytes. Threads: one at a time. */
#ifndef TUTTI_PAGE_H
#define TUTTI_PAGE_H

#include <stdbool.h>

#include "../base/text/strbuf.h"

enum { TUTTI_PAGE_DEPTH = 8, TUTTI_PAGE_COLUMNS = 24 };

typedef struct {
    tutti_strbuf *out;               /* the caller's text; charts are appended to it too */
    char open[TUTTI_PAGE_DEPTH][12]; /* names of the elements that are open */
    /* for the current table: kind of the cells of each column; 0 = numbers, 1 = words, 2 = many words */
    char column[TUTTI_PAGE_COLUMNS];
    int nopen, ncolumns, at; /* nopen: number of open elements; ncolumns: columns of the current table, 0 = no table is
                              * open; at: index of the next cell in the row */
} tutti_page;

/* Begins an empty page with its heading; it appends to `out`. */
tutti_page tutti_page_begin(const char *title, const char *heading, tutti_strbuf *out);
/* Closes all open elements. */
void tutti_page_end(tutti_page *p);

/* Opens an element. tag: a name, with attributes after a space. At most TUTTI_PAGE_DEPTH may be open. */
void tutti_page_open(tutti_page *p, const char *tag);
void tutti_page_close(tutti_page *p); /* closes the element opened last */
void tutti_page_text(tutti_page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends an element that holds only text. An element of class `note` is small and pale. A `div` of class `figures` is
 * a grid of elements; the variable --least of its style is the least width of each, unless the page is narrower. */
void tutti_page_element(tutti_page *p, const char *tag, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Appends n names, each with a sign in its colour: a square or, with `lines`, the line of the band of that number.
 * colours: numbers of the colours; NULL: 0, 1, .. */
void tutti_page_legend(tutti_page *p, const char *const *names, const int *colours, int n, bool lines);

/* Opens a table under a title (NULL = none). heads: the names of the columns, separated by |. A column whose name
 * begins with < holds words, with << many words; any other column holds numbers. */
void tutti_page_table(tutti_page *p, const char *title, const char *heads);
void tutti_page_table_end(tutti_page *p);
void tutti_page_row(tutti_page *p); /* opens the next row */
/* Appends the next cells of the row, separated by tabs. Text after a newline in a cell becomes a second, smaller
 * line. */
void tutti_page_cells(tutti_page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends a cell with attributes; with class `bad` it is red. */
void tutti_page_cell_as(tutti_page *p, const char *attributes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Appends a name with the line that band `line` has in the charts. */
void tutti_page_cell_named(tutti_page *p, int line, const char *name);

#endif
