/* SPDX-License-Identifier: Apache-2.0 */
/* tile_config.h: configures a thread's AMX tiles, and restores the earlier configuration afterwards, because oneDNN
 * relies on its own. Only files NAME_amx.c include it. */
#ifndef TUTTI_TILE_CONFIG_H
#define TUTTI_TILE_CONFIG_H

#include <immintrin.h>
#include <stdint.h>

/* The 64 bytes that the instruction LDTILECFG reads. */
typedef struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

/* Loads a configuration. gcc 12's intrinsic declares that it reads only as many bytes as a pointer has. The empty
 * statement before the intrinsic makes the compiler write the whole configuration first; a statement after it marks all
 * of it as changed. */
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
