/* SPDX-License-Identifier: Apache-2.0 */
/* stripes.c: ten classes of 28x28 stripes: the class is the direction that they run in; phase, width and contrast are
 * drawn. */
#include "../dataset_impl.h"
#include "dice.h"

enum { SIDE = 28, NCLASSES = 10, GREY = 128 };

/* Every 18 degrees, in hundredths. */
static const int direction[NCLASSES][2] = {{100, 0}, {95, 31},  {81, 59},  {59, 81},  {31, 95},
                                           {0, 100}, {-31, 95}, {-59, 81}, {-81, 59}, {-95, 31}};

static uint8_t draw(uint64_t seed, tutti_split split, int64_t index, uint8_t *bytes)
{
    const uint8_t label = tutti_drawn_label(seed, split, index);
    tutti_dice dice = {.seed = seed ^ 0x73747269706573u, .sample = (uint64_t)index * 2 + (uint64_t)split};
    const int64_t period = 400 + tutti_dice_below(&dice, 300), phase = tutti_dice_below(&dice, period);
    const int64_t depth = 40 + tutti_dice_below(&dice, 80), whole = 100 * SIDE * period; /* no remainder below 0 */
    for (int i = 0; i < SIDE * SIDE; i++) {
        const int64_t along = i % SIDE * direction[label][0] + i / SIDE * direction[label][1] + phase + whole;
        bytes[i] = (uint8_t)(GREY + (2 * (along % period) < period ? depth : -depth));
    }
    return label;
}

static tutti_status open_stripes(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                                 tutti_failure *err)
{
    static const tutti_drawn_set set = {
        .shape = {.ndims = 3, .dim = {1, SIDE, SIDE}}, .train = 10000, .test = 1000, .draw = draw};
    return tutti_drawn_open(&set, config, split, d, err);
}

const tutti_dataset_row tutti_dataset_stripes = {
    .name = "stripes",
    .help = "28x28 stripes in ten directions that the program draws itself",
    .mean = {0.5},
    .std = {0.32},
    .open = open_stripes,
};
