/* SPDX-License-Identifier: Apache-2.0 */
/* strip_chart.c: draws spans of time as rectangles on a strip. */
#include "chart.h"

#include <math.h>

enum { WIDTH = 1000, HEIGHT = 24 };

void tutti_strip_chart_svg(const char *words, double length, const tutti_strip_piece *pieces, int n, tutti_strbuf *out)
{
    tutti_svg_begin_stretched(WIDTH, HEIGHT, words, out);
    tutti_strbuf_printf(out, "<rect class=\"lane\" width=\"%d\" height=\"%d\"/>\n", WIDTH, HEIGHT);
    for (int i = 0; i < n && length > 0; i++) {
        const double begin = fmax(0, pieces[i].begin) / length * WIDTH,
                     end = fmin(length, pieces[i].end) / length * WIDTH;
        if (!(end > begin)) continue;
        tutti_strbuf_printf(out, "<rect x=\"%.2f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"><title>", begin,
                            end - begin, HEIGHT, tutti_svg_colour(pieces[i].colour));
        tutti_svg_escape(pieces[i].words, out);
        tutti_strbuf_puts(out, "</title></rect>\n");
    }
    tutti_svg_end(out);
}
