/* SPDX-License-Identifier: Apache-2.0 */
/* tile_config.h: configures a thread's AMX tiles and restores them, because oneDNN remembers what it configured.
 * Included by files NAME_amx.c alone. */
#ifndef TUTTI_TILE_CONFIG_H
#define TUTTI_TILE_CONFIG_H

#include <immintrin.h>
#include <stdint.h>

/* As LDTILECFG reads it. */
typedef struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

/* What the compiler's intrinsics say of these instructions is a pointer's width: without the empty one before it a
 * configuration may not have been written yet (gcc 12), and after it may be thought not to have changed. */
static inline void tile_config_take(const tile_config *config)
{
    __asm__ volatile("" : : "r"(config) : "memory");
    _tile_loadconfig(config);
}

static inline void tile_config_save(tile_config *config)
{
    __asm__ volatile("" : : "r"(config) : "memory");
    _tile_storeconfig(config);
    __asm__ volatile("" : : "r"(config) : "memory");
}

#endif
