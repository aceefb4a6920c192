/* SPDX-License-Identifier: Apache-2.0 */
/* svg.h: what our pictures share: a white page, text, numbers, colours; no fonts or scripts from elsewhere. Threads: shared. */
#ifndef TUTTI_SVG_H
#define TUTTI_SVG_H

#include "../../base/text/strbuf.h"

enum { TUTTI_SVG_NCOLOURS = 10 };
const char *tutti_svg_colour(int i); /* i mod 10 */

void tutti_svg_begin(int width, int height, tutti_strbuf *out);
/* A picture inside a page of HTML, as wide as its place; .grid, .axis, .title and .quiet are the page's. words: what it shows. */
void tutti_svg_begin_inline(int width, int height, const char *words, tutti_strbuf *out);
/* The same, stretched to its place in both directions: for what has no words in it. */
void tutti_svg_begin_stretched(int width, int height, const char *words, tutti_strbuf *out);
/* These classes, as CSS. */
const char *tutti_svg_style(void);
void tutti_svg_end(tutti_strbuf *out);
/* attributes: of the element, "" for none; class="title" is bold, class="quiet" grey. */
void tutti_svg_text(double x, double y, const char *attributes, const char *text, tutti_strbuf *out);
void tutti_svg_number(double x, double y, const char *attributes, double value, tutti_strbuf *out);
/* Text of an element or of an attribute in double quotes. */
void tutti_svg_escape(const char *text, tutti_strbuf *out);
/* 1, 2 or 5 times a power of ten, about range / wanted. */
double tutti_svg_tick_step(double range, int wanted);

#endif
