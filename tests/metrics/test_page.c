/* SPDX-License-Identifier: Apache-2.0 */
/* test_page.c: pages of HTML: what is opened is closed, texts are escaped, each row of a table has its cells. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/page.h"

/* Each tag that is opened is closed in its turn. `meta` has no end. */
static void check_nesting(const char *html)
{
    char open[16][16];
    int n = 0;
    for (const char *at = strchr(html, '<'); at; at = strchr(at + 1, '<')) {
        char name[16] = "";
        const char *end = strchr(at, '>');
        assert_non_null(end);
        if (at[1] == '!' || !strncmp(at, "<meta ", 6) || end[-1] == '/') continue;
        assert_int_equal(sscanf(at + 1 + (at[1] == '/'), "%15[a-z0-9]", name), 1);
        if (at[1] == '/') {
            assert_true(n > 0);
            assert_string_equal(name, open[--n]);
        } else {
            assert_true(n < 16);
            memcpy(open[n++], name, sizeof name);
        }
    }
    assert_int_equal(n, 0);
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word)) n++;
    return n;
}

static void expect(const char *html, const char *wanted)
{
    if (!strstr(html, wanted)) fail_msg("'%s' is not in: %s", wanted, html);
}

static void an_empty_page_has_its_heading_and_style(void **state)
{
    (void)state;
    tutti_strbuf out = {0};
    tutti_page p = tutti_page_begin("A & B", "<job>", &out);
    tutti_page_end(&p);
    check_nesting(out.text);
    assert_memory_equal(out.text, "<!DOCTYPE html>\n<html lang=\"en\">", 32);
    expect(out.text, "<title>A &amp; B</title>");
    expect(out.text, "<h1>&lt;job></h1>");
    expect(out.text, "prefers-color-scheme:dark");
    assert_null(strstr(out.text, "http"));
    assert_null(strstr(out.text, "url("));
    tutti_strbuf_release(&out);
}

static void elements_hold_escaped_text_and_are_closed_at_the_end(void **state)
{
    (void)state;
    static const char *const names[] = {"one", "a<b"};
    static const int colours[] = {3, 4};
    tutti_strbuf out = {0};
    tutti_page p = tutti_page_begin("t", "h", &out);
    tutti_page_element(&p, "p class=\"note\"", "%s of %d", "<script>", 7);
    tutti_page_element(&p, "p", "%s", "");
    tutti_page_legend(&p, names, NULL, 2, true);
    tutti_page_legend(&p, names, colours, 2, false);
    tutti_page_open(&p, "div class=\"figures\" style=\"--least:30rem\"");
    tutti_page_open(&p, "figure");
    tutti_page_text(&p, "%s", "\"quoted\"");
    tutti_page_end(&p);
    check_nesting(out.text);
    expect(out.text, "<p class=\"note\">&lt;script> of 7</p>\n<p></p>\n");
    assert_int_equal(count(out.text, "a&lt;b</li>"), 2);
    assert_int_equal(count(out.text, "stroke=\"#"), 2);
    assert_int_equal(count(out.text, "<path fill=\"#7a3b93\""), 1);
    expect(out.text, "&quot;quoted&quot;</figure>\n</div>\n</body>\n</html>\n");
    tutti_strbuf_release(&out);
}

/* Columns are of numbers, of words, of many words; the second table has fewer than the first. */
static void each_row_of_a_table_has_its_cells(void **state)
{
    (void)state;
    tutti_strbuf out = {0};
    tutti_page p = tutti_page_begin("t", "h", &out);
    tutti_page_table(&p, "Result", "<<method|seconds|<says");
    tutti_page_row(&p);
    tutti_page_cell_named(&p, 0, "a|b");
    tutti_page_cells(&p, "%.1f\n%s\t%s", 1.5, "1 to <2", "");
    tutti_page_row(&p);
    tutti_page_cells(&p, "%s", "");
    tutti_page_cell_as(&p, "class=\"bad\"", "%d %%", 9);
    tutti_page_cells(&p, "x");
    tutti_page_table_end(&p);
    tutti_page_table(&p, NULL, "ranks");
    tutti_page_row(&p);
    tutti_page_cells(&p, "4");
    tutti_page_table_end(&p);
    tutti_page_end(&p);
    check_nesting(out.text);
    expect(out.text, "<h2>Result</h2>\n<div class=\"wide\"><table><tr><th class=\"t w\">method</th>\n<th>seconds</th>\n"
                     "<th class=\"t\">says</th>\n</tr>\n<tr><td class=\"t w\"><svg ");
    expect(out.text, "</svg>a|b</td>\n<td>1.5<small>1 to &lt;2</small>\n</td>\n<td class=\"t\"></td>\n</tr>\n");
    expect(out.text,
           "<tr><td class=\"t w\"></td>\n<td class=\"bad\">9 %</td>\n<td class=\"t\">x</td>\n</tr>\n</table>\n");
    expect(out.text, "</div>\n<div class=\"wide\"><table><tr><th>ranks</th>\n</tr>\n<tr><td>4</td>\n</tr>\n</table>\n");
    tutti_strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_page_has_its_heading_and_style),
        cmocka_unit_test(elements_hold_escaped_text_and_are_closed_at_the_end),
        cmocka_unit_test(each_row_of_a_table_has_its_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
