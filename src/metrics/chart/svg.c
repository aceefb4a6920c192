/* SPDX-License-Identifier: Apache-2.0 */
/* svg.c: writes the parts of SVG pictures: page, style, text, numbers. */
#include "chart.h"

#include <math.h>

static const char *const colours[TUTTI_SVG_NCOLOURS] = {
    "#2457a6", "#c2571a", "#2e7d4f", "#7a3b93", "#c9a100", "#0097b2", "#c2185b", "#6d4c2f", "#7d9b2b", "#5f7482",
};

const char *tutti_svg_style(void)
{
    return ".grid{stroke:#e4e4e4}.axis{stroke:#555;fill:none}.title{font-weight:bold}"
           ".quiet{fill:#777}";
}

const char *tutti_svg_colour(int i)
{
    return colours[i % TUTTI_SVG_NCOLOURS];
}

void tutti_svg_begin(int width, int height, tutti_strbuf *out)
{
    tutti_strbuf_printf(out,
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
                        "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
                        "<style>%s</style>\n"
                        "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                        width, height, width, height, tutti_svg_style(), width, height);
}

void tutti_svg_begin_inline(int width, int height, const char *words, tutti_strbuf *out)
{
    tutti_strbuf_printf(out,
                        "<svg viewBox=\"0 0 %d %d\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\" "
                        "fill=\"#222\">\n<title>",
                        width, height);
    tutti_svg_escape(words, out);
    tutti_strbuf_puts(out, "</title>\n");
}

void tutti_svg_begin_stretched(int width, int height, const char *words, tutti_strbuf *out)
{
    tutti_strbuf_printf(
        out,
        "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\" role=\"img\">\n<title>",
        width, height);
    tutti_svg_escape(words, out);
    tutti_strbuf_puts(out, "</title>\n");
}

void tutti_svg_end(tutti_strbuf *out)
{
    tutti_strbuf_puts(out, "</svg>\n");
}

/* Appends a character. Control characters other than tabs and newlines are left out, because XML cannot hold them. */
static void put_character(tutti_strbuf *out, const char *bytes, size_t n)
{
    const unsigned char c = (unsigned char)bytes[0];
    if (c == '<')
        tutti_strbuf_puts(out, "&lt;");
    else if (c == '"')
        tutti_strbuf_puts(out, "&quot;");
    else if (c == '&')
        tutti_strbuf_puts(out, "&amp;");
    else if (c >= 0x20 || c == '\t' || c == '\n')
        tutti_strbuf_add(out, bytes, n);
}

void tutti_svg_escape(const char *text, tutti_strbuf *out)
{
    tutti_strbuf_add_utf8(out, text, put_character);
}

void tutti_svg_text(double x, double y, const char *attributes, const char *text, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    tutti_svg_escape(text, out);
    tutti_strbuf_puts(out, "</text>\n");
}

void tutti_svg_number(double x, double y, const char *attributes, double value, tutti_strbuf *out)
{
    tutti_strbuf words = {0};
    tutti_strbuf_printf(&words, "%.6g", value);
    tutti_svg_text(x, y, attributes, words.text, out);
    tutti_strbuf_release(&words);
}

double tutti_svg_tick_step(double range, int wanted)
{
    const double raw = range / wanted, power = pow(10, floor(log10(raw))), m = raw / power;
    return power * (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10);
}
