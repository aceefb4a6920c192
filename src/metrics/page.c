/* SPDX-License-Identifier: Apache-2.0 */
/* page.c: writes pages of HTML: elements, and the one style that all pages have. */
#include "page.h"

#include <stdio.h>
#include <string.h>

#include "chart/chart.h"

static const char style[] =
    ":root{color-scheme:light dark}"
    "body{margin:0 auto;max-width:80rem;padding:1rem;font:15px/1.45 sans-serif;color:#222;background:#fff}"
    "h1{font-size:1.4rem;margin:.2rem 0}h2{font-size:1.1rem;margin:1.6rem 0 .4rem}p{max-width:60rem;margin:.4rem 0}"
    "p,h1,h2,li{overflow-wrap:anywhere}"
    ".figures{display:grid;gap:1rem 2rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,var(--least)),1fr))}"
    "figure{margin:0;max-width:36rem}figure>svg{width:100%;height:auto;display:block}"
    ".legend{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;margin:.5rem 0;padding:0;list-style:none}"
    ".legend svg,td svg{vertical-align:middle;margin-right:.35rem}"
    ".lanes svg{width:100%;height:2.2rem;display:block}.lane{fill:#eee}.lanes p{margin:.5rem 0 .1rem}"
    ".ticks{display:flex;justify-content:space-between}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.25rem 0 .25rem 1rem;text-align:right;vertical-align:top;border-bottom:1px solid #e4e4e4}"
    "td{white-space:nowrap}th{border-bottom-color:#888;vertical-align:bottom}"
    "th:first-child,td:first-child{padding-left:0}"
    ".t{text-align:left;white-space:normal;min-width:7rem}.w{min-width:12rem;overflow-wrap:anywhere}"
    ".w:last-child{min-width:18rem}.bad{color:#b00020}"
    "small,figcaption,.note,.ticks{color:#666;font-size:.85em}td small{display:block}";

static const char dark[] = "@media(prefers-color-scheme:dark){body{color:#ddd;background:#16181c}"
                           "th,td{border-bottom-color:#33373d}th{border-bottom-color:#888}.lane{fill:#2a2e34}"
                           "small,figcaption,.note,.ticks{color:#aaa}"
                           "figure svg{fill:#ddd}.grid{stroke:#33373d}.axis{stroke:#999}.quiet{fill:#999}"
                           "svg path,svg rect,svg circle{filter:brightness(1.3)}.bad{color:#ff8a80}}";

/* ---- pages and their elements ---- */

tutti_page tutti_page_begin(const char *title, const char *heading, tutti_strbuf *out)
{
    tutti_page p = {.out = out};
    tutti_strbuf_puts(out, "<!DOCTYPE html>\n");
    tutti_page_open(&p, "html lang=\"en\"");
    tutti_page_open(&p, "head");
    tutti_strbuf_puts(out, "\n<meta charset=\"utf-8\">\n"
                           "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
    tutti_page_element(&p, "title", "%s", title);
    tutti_strbuf_printf(out, "<style>%s%s%s</style>\n", style, tutti_svg_style(), dark);
    tutti_page_close(&p);
    tutti_page_open(&p, "body");
    tutti_page_element(&p, "h1", "%s", heading);
    return p;
}

void tutti_page_end(tutti_page *p)
{
    while (p->nopen) tutti_page_close(p);
}

void tutti_page_open(tutti_page *p, const char *tag)
{
    char *name = p->open[p->nopen++];
    const size_t n = strcspn(tag, " ");
    memcpy(name, tag, n);
    name[n] = '\0';
    tutti_strbuf_printf(p->out, "<%s>", tag);
}

void tutti_page_close(tutti_page *p)
{
    tutti_strbuf_printf(p->out, "</%s>\n", p->open[--p->nopen]);
}

static void add_text(tutti_page *p, const char *format, va_list values)
{
    tutti_strbuf text = {0};
    tutti_strbuf_puts(&text, ""); /* makes the text "" instead of NULL if the format is empty */
    tutti_strbuf_vprintf(&text, format, values);
    tutti_svg_escape(text.text, p->out);
    tutti_strbuf_release(&text);
}

void tutti_page_text(tutti_page *p, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    add_text(p, format, values);
    va_end(values);
}

void tutti_page_element(tutti_page *p, const char *tag, const char *format, ...)
{
    va_list values;
    tutti_page_open(p, tag);
    va_start(values, format);
    add_text(p, format, values);
    va_end(values);
    tutti_page_close(p);
}

void tutti_page_legend(tutti_page *p, const char *const *names, const int *colours, int n, bool lines)
{
    tutti_page_open(p, "ul class=\"legend\"");
    for (int i = 0; i < n; i++) {
        tutti_page_open(p, "li");
        (lines ? tutti_chart_mark : tutti_chart_square)(colours ? colours[i] : i, p->out);
        tutti_page_text(p, "%s", names[i]);
        tutti_page_close(p);
    }
    tutti_page_close(p);
}

/* ---- tables ---- */

/* Opens a cell. of: its tag, td or th. The column's head gives the kind of the cell: n numbers, t words, w many
 * words. */
static void open_cell(tutti_page *p, const char *of)
{
    static const char *const class_of[] = {"", " class=\"t\"", " class=\"t w\""};
    char tag[24];
    snprintf(tag, sizeof tag, "%s%s", of, class_of[(int)p->column[p->at++]]);
    tutti_page_open(p, tag);
}

void tutti_page_table(tutti_page *p, const char *title, const char *heads)
{
    if (title) tutti_page_element(p, "h2", "%s", title);
    p->ncolumns = p->at = 0;
    tutti_page_open(p, "div class=\"wide\"");
    tutti_page_open(p, "table");
    tutti_page_row(p);
    for (const char *head = heads, *end; *head; head = end + (*end == '|')) {
        const char kind = (char)strspn(head, "<");
        p->column[p->ncolumns++] = kind;
        end = head + strcspn(head, "|");
        open_cell(p, "th");
        tutti_page_text(p, "%.*s", (int)(end - head) - kind, head + kind);
        tutti_page_close(p);
    }
}

void tutti_page_table_end(tutti_page *p)
{
    for (int i = 0; i < 3; i++) tutti_page_close(p); /* closes the row, the table, its frame */
}

void tutti_page_row(tutti_page *p)
{
    if (p->ncolumns) tutti_page_close(p); /* closes the row that is open */
    p->at = 0;
    tutti_page_open(p, "tr");
}

static void add_cell(tutti_page *p, char *text)
{
    char *below = strchr(text, '\n');
    if (below) *below++ = '\0';
    open_cell(p, "td");
    tutti_page_text(p, "%s", text);
    if (below) tutti_page_element(p, "small", "%s", below);
    tutti_page_close(p);
}

void tutti_page_cells(tutti_page *p, const char *format, ...)
{
    tutti_strbuf text = {0};
    va_list values;
    tutti_strbuf_puts(&text, "");
    va_start(values, format);
    tutti_strbuf_vprintf(&text, format, values);
    va_end(values);
    for (char *cell = text.text, *next = cell; next; cell = next) {
        next = strchr(cell, '\t');
        if (next) *next++ = '\0';
        add_cell(p, cell);
    }
    tutti_strbuf_release(&text);
}

void tutti_page_cell_as(tutti_page *p, const char *attributes, const char *format, ...)
{
    va_list values;
    p->at++;
    tutti_strbuf_printf(p->out, "<td %s>", attributes);
    va_start(values, format);
    add_text(p, format, values);
    va_end(values);
    tutti_strbuf_puts(p->out, "</td>\n");
}

void tutti_page_cell_named(tutti_page *p, int line, const char *name)
{
    open_cell(p, "td");
    tutti_chart_mark(line, p->out);
    tutti_page_text(p, "%s", name);
    tutti_page_close(p);
}
