/* SPDX-License-Identifier: Apache-2.0 */
/* shapes_outlines.c: the outlines of the ten shapes: x, y pairs, 100 = the radius of the shape. An outline may have
 * several rings; points enclosed by an odd number of rings are inside. */
#include "../dataset_impl.h"

enum { NEXT = TUTTI_OUTLINE_NEXT, CLOSE = TUTTI_OUTLINE_END };

static const int8_t disc[] = {100, 0,   95,  31,   81,  59,  59,   81,  31,  95,  0,   100, -31,  95,
                              -59, 81,  -81, 59,   -95, 31,  -100, 0,   -95, -31, -81, -59, -59,  -81,
                              -31, -95, 0,   -100, 31,  -95, 59,   -81, 81,  -59, 95,  -31, CLOSE};
static const int8_t ring[] = {100, 0,    95,  31,  81,  59,   59,  81,  31,  95,  0,    100, -31, 95,   -59,
                              81,  -81,  59,  -95, 31,  -100, 0,   -95, -31, -81, -59,  -59, -81, -31,  -95,
                              0,   -100, 31,  -95, 59,  -81,  81,  -59, 95,  -31, NEXT, 58,  0,   54,   22,
                              41,  41,   22,  54,  0,   58,   -22, 54,  -41, 41,  -54,  22,  -58, 0,    -54,
                              -22, -41,  -41, -22, -54, 0,    -58, 22,  -54, 41,  -41,  54,  -22, CLOSE};
static const int8_t crescent[] = {58,  81,  32,  95,  4,   100, -25, 97,  -52, 85,  -74, 67,  -91,  42,
                                  -99, 15,  -99, -15, -91, -42, -74, -67, -52, -85, -25, -97, 4,    -100,
                                  32,  -95, 58,  -81, 35,  -81, 13,  -74, -6,  -61, -21, -44, -31,  -23,
                                  -34, 0,   -31, 23,  -21, 44,  -6,  61,  13,  74,  35,  81,  CLOSE};
static const int8_t triangle[] = {0, -100, 87, 50, -87, 50, CLOSE};
static const int8_t square[] = {-80, -80, 80, -80, 80, 80, -80, 80, CLOSE};
static const int8_t frame[] = {-84, -84, 84, -84, 84, 84, -84, 84, NEXT, -46, -46, 46, -46, 46, 46, -46, 46, CLOSE};
static const int8_t star[] = {0,  -100, 25, -34, 95, -31, 40,  13,  59,  81,   0,
                              42, -59,  81, -40, 13, -95, -31, -25, -34, CLOSE};
static const int8_t cross[] = {-30, -98, 30, -98, 30, -30, 98, -30, 98,  30,  30,  30,   30,
                               98,  -30, 98, -30, 30, -98, 30, -98, -30, -30, -30, CLOSE};
static const int8_t arrow[] = {0, -100, 78, -8, 26, -8, 26, 98, -26, 98, -26, -8, -78, -8, CLOSE};
static const int8_t heart[] = {0,   -41, 3,   -52, 19,  -72, 49,  -81, 80,  -66, 93,  -35, 80,   -1,
                               49,  30,  19,  57,  3,   78,  0,   87,  -3,  78,  -19, 57,  -49,  30,
                               -80, -1,  -93, -35, -80, -66, -49, -81, -19, -72, -3,  -52, CLOSE};

const char *const tutti_shape_names[TUTTI_NSHAPES + 1] = {"disc",  "ring", "crescent", "triangle", "square",
                                                          "frame", "star", "cross",    "arrow",    "heart"};
const int8_t *const tutti_shape_outlines[TUTTI_NSHAPES] = {disc,  ring, crescent, triangle, square,
                                                           frame, star, cross,    arrow,    heart};
