/* SPDX-License-Identifier: Apache-2.0 */
/* digits_styles.c: the styles of handwritten digits, that is, the ways in which people write them. Each style is the
 * pen's path over the paper, in a box of 100 x 100 with y downwards. A stroke is smooth through its points; a sharp
 * corner ends one stroke and starts the next at the same point. The styles were drawn by hand for tutti; digits.c adds
 * the jitter of each point, the slant and so on. */
#include "../dataset_impl.h"

enum { UP = TUTTI_PEN_UP, END = TUTTI_PEN_END };

static const int8_t zero_round[] = {52, 5,  34, 9,  22, 30, 19, 55, 28, 84, 48, 95,
                                    68, 88, 80, 62, 79, 32, 68, 11, 52, 5,  END};
static const int8_t zero_narrow[] = {58, 6, 42, 14, 32, 44, 34, 78, 48, 95, 62, 78, 68, 44, 62, 14, 52, 7, END};
static const int8_t zero_open[] = {64, 14, 48, 5,  30, 18, 20, 50, 28, 85, 52, 95,
                                   74, 78, 82, 44, 70, 14, 54, 12, 44, 20, END};
static const int8_t zero_loop[] = {44, 12, 26, 28, 18, 58, 34, 92, 62, 90, 82, 60,
                                   76, 22, 54, 6,  40, 14, 50, 26, 66, 22, END};

static const int8_t one_bar[] = {51, 5, 50, 35, 50, 65, 49, 95, END};
static const int8_t one_flag[] = {34, 26, 44, 18, 54, 5, UP, 54, 5, 53, 35, 52, 65, 52, 95, END};
static const int8_t one_foot[] = {36, 24, 46, 16, 52, 6,  UP, 52, 6,  52, 40, 51,
                                  70, 51, 94, UP, 30, 94, 50, 94, 72, 93, END};
static const int8_t one_bent[] = {56, 5, 52, 30, 50, 62, 54, 95, END};

static const int8_t two_plain[] = {22, 28, 32, 10, 54, 5,  74, 16, 74, 36, 56, 62,
                                   36, 82, 20, 95, UP, 20, 95, 50, 93, 82, 93, END};
static const int8_t two_loop[] = {22, 24, 40, 6,  66, 10, 74, 32, 58, 62, 34, 88,
                                  20, 88, 24, 74, 42, 80, 62, 94, 84, 88, END};
static const int8_t two_sharp[] = {20, 18, 44, 6,  72, 10, 72, 32, 44, 66, 20,
                                   92, UP, 20, 92, 44, 86, 62, 92, 84, 90, END};
static const int8_t two_swan[] = {24, 34, 26, 12, 50, 4,  72, 14, 76, 36, 60, 62,
                                  34, 86, UP, 24, 92, 40, 82, 58, 90, 82, 96, END};

static const int8_t three_round[] = {22, 16, 44, 5,  70, 12, 72, 32, 46, 46, UP, 46,
                                     46, 74, 54, 80, 76, 62, 93, 38, 94, 20, 82, END};
static const int8_t three_flat[] = {22, 8,  48, 7,  76, 7,  UP, 76, 7,  60, 24, 44, 42, UP,
                                    44, 42, 72, 48, 80, 72, 62, 92, 36, 95, 20, 84, END};
static const int8_t three_curl[] = {26, 18, 42, 5,  66, 10, 68, 32, 50, 44, 40, 46, 48,
                                    50, 72, 56, 76, 78, 56, 94, 30, 92, 20, 80, END};
static const int8_t three_wide[] = {28, 10, 56, 5,  74, 20, 60, 38, 42, 46, UP, 42,
                                    46, 66, 44, 82, 62, 74, 86, 50, 96, 24, 92, END};

static const int8_t four_open[] = {30, 6, 26, 30, 22, 54, UP, 22, 54, 48, 56, 82, 52, UP, 66, 10, 64, 50, 60, 95, END};
static const int8_t four_closed[] = {64, 5, 42, 36, 18, 66, UP, 18, 66, 50, 66, 84, 65, UP, 64, 5, 63, 50, 62, 95, END};
static const int8_t four_round[] = {26, 8, 20, 34, 30, 52, 52, 50, 70, 38, UP, 76, 6, 70, 40, 66, 70, 64, 96, END};
static const int8_t four_quick[] = {36, 5, 24, 38, 20, 60, 50, 58, 84, 56, UP, 60, 28, 58, 60, 56, 95, END};

static const int8_t five_plain[] = {34, 8,  30, 28, 28, 44, UP, 28, 44, 50, 38, 74, 50, 78, 74,
                                    58, 93, 34, 94, 20, 86, UP, 34, 8,  54, 8,  78, 6,  END};
static const int8_t five_snake[] = {78, 8, 58, 6, 38, 12, 28, 28, 40, 42, 64, 52, 74, 70, 60, 90, 36, 95, 20, 88, END};
static const int8_t five_square[] = {76, 8,  54, 8,  32, 9,  UP, 32, 9,  30, 26, 29, 44, UP,
                                     29, 44, 56, 42, 78, 62, 70, 86, 44, 95, 20, 86, END};
static const int8_t five_hat[] = {36, 14, 33, 30, 31, 42, 52, 42, 70, 56, 70, 78, 52,
                                  94, 30, 93, 22, 86, UP, 36, 12, 58, 12, 82, 4,  END};

static const int8_t six_plain[] = {66, 6, 44, 22, 28, 50, 24, 74, 36, 93, 60, 93, 74, 76, 66, 58, 46, 56, 28, 70, END};
static const int8_t six_stem[] = {44, 4, 34, 30, 26, 58, 28, 84, 46, 96, 68, 88, 74, 70, 58, 58, 38, 66, 28, 80, END};
static const int8_t six_curl[] = {76, 14, 60, 5,  38, 20, 24, 52, 28, 82, 48, 95, 70,
                                  86, 74, 66, 56, 54, 36, 62, 32, 78, 40, 86, END};
static const int8_t six_tall[] = {60, 4, 42, 30, 30, 60, 32, 84, 44, 94, 60, 90, 64, 76, 54, 66, 38, 72, 32, 82, END};

static const int8_t seven_plain[] = {22, 10, 50, 9, 78, 8, UP, 78, 8, 64, 38, 50, 66, 42, 95, END};
static const int8_t seven_bar[] = {22, 12, 48, 10, 76, 8, UP, 76, 8, 60, 46, 44, 95, UP, 36, 52, 54, 50, 72, 49, END};
static const int8_t seven_curve[] = {20, 22, 26, 8, 44, 14, 62, 16, 80, 8, 66, 34, 56, 62, 54, 95, END};
static const int8_t seven_serif[] = {24, 24, 24, 16, 25, 10, UP, 25, 10, 52, 9,  76,
                                     10, UP, 76, 10, 60, 36, 50, 62, 48, 95, END};

static const int8_t eight_cross[] = {72, 16, 54, 5,  32, 14, 32, 32, 54, 48, 72, 66, 66, 90,
                                     46, 96, 26, 84, 32, 64, 54, 46, 72, 30, 72, 16, END};
static const int8_t eight_rings[] = {50, 5,  32, 14, 32, 34, 50, 44, 68, 34, 68, 14, 50, 5,  UP,
                                     50, 45, 28, 56, 24, 78, 48, 96, 74, 80, 72, 58, 50, 45, END};
static const int8_t eight_top[] = {62, 8,  40, 6,  28, 24, 46, 42, 68, 60, 72, 84, 50,
                                   96, 28, 84, 38, 58, 62, 38, 74, 18, 68, 6,  END};
static const int8_t eight_thin[] = {68, 10, 48, 6,  38, 20, 48, 38, 60, 58, 62, 82,
                                    48, 95, 36, 82, 42, 58, 60, 34, 70, 14, END};

static const int8_t nine_stem[] = {70, 24, 54, 6,  32, 14, 26, 36, 42, 50, 62, 42,
                                   70, 24, UP, 72, 10, 68, 44, 64, 72, 60, 96, END};
static const int8_t nine_tail[] = {70, 30, 60, 8,  38, 8,  26, 30, 40, 50, 62, 44,
                                   72, 24, 74, 50, 68, 80, 50, 95, 28, 90, END};
static const int8_t nine_slope[] = {72, 16, 52, 5, 30, 18, 28, 38, 46, 48, 66, 34, 74, 14, 66, 46, 54, 74, 44, 96, END};
static const int8_t nine_small[] = {66, 14, 48, 10, 36, 26, 46, 42, 62, 36, 68, 16, 64, 48, 58, 74, 56, 95, END};

const tutti_digit_style tutti_digit_styles[] = {
    {zero_round, 0, 6},  {zero_narrow, 0, 4}, {zero_open, 0, 4},   {zero_loop, 0, 2},   /* the digit 0 */
    {one_bar, 1, 8},     {one_flag, 1, 4},    {one_foot, 1, 2},    {one_bent, 1, 2},    /* the digit 1 */
    {two_plain, 2, 5},   {two_loop, 2, 5},    {two_sharp, 2, 3},   {two_swan, 2, 3},    /* the digit 2 */
    {three_round, 3, 6}, {three_flat, 3, 3},  {three_curl, 3, 4},  {three_wide, 3, 3},  /* the digit 3 */
    {four_open, 4, 5},   {four_closed, 4, 4}, {four_round, 4, 4},  {four_quick, 4, 3},  /* the digit 4 */
    {five_plain, 5, 5},  {five_snake, 5, 4},  {five_square, 5, 4}, {five_hat, 5, 3},    /* the digit 5 */
    {six_plain, 6, 6},   {six_stem, 6, 4},    {six_curl, 6, 3},    {six_tall, 6, 3},    /* the digit 6 */
    {seven_plain, 7, 6}, {seven_bar, 7, 4},   {seven_curve, 7, 3}, {seven_serif, 7, 3}, /* the digit 7 */
    {eight_cross, 8, 6}, {eight_rings, 8, 4}, {eight_top, 8, 4},   {eight_thin, 8, 2},  /* the digit 8 */
    {nine_stem, 9, 5},   {nine_tail, 9, 5},   {nine_slope, 9, 4},  {nine_small, 9, 2},
};
const int tutti_ndigit_styles = sizeof tutti_digit_styles / sizeof tutti_digit_styles[0];
