/* What coder and decoder of updates share. */
#ifndef EK_UPDATE_CODING_H
#define EK_UPDATE_CODING_H

#include "edgekit/update.h"

enum { UPDATE_LITERAL, UPDATE_MATCH, UPDATE_DIFFERENCE };
enum { UPDATE_MAGIC = 0x31554b45 /* "EKU1" */, UPDATE_HEAD = 48, UPDATE_HEAD_OLD = 80, UPDATE_CODE = 4 };
enum { ODDS_BITS = 12, ODDS_EVEN = 2048, ODDS_RATE = 5, RANGE_LOW = 1 << 24 };
enum { NUMBER_BITS = 31, NUMBER_UNARY = 24, NUMBER_TREE = EK_UPDATE_NUMBER - NUMBER_UNARY };

static inline void odds_start(ek_update_odds *odds)
{
    uint16_t *p = (uint16_t *)odds;
    for (size_t i = 0; i < sizeof *odds / sizeof *p; i++) p[i] = ODDS_EVEN;
}

static inline void odds_learn(uint16_t *p, uint32_t bit)
{
    if (bit)
        *p = (uint16_t)(*p - (*p >> ODDS_RATE));
    else
        *p = (uint16_t)(*p + (((1 << ODDS_BITS) - *p) >> ODDS_RATE));
}

/* Odds of "one more bit" behind n of a number, and of a bit behind those of `high`, whose highest is 1. */
static inline uint16_t *odds_longer(uint16_t *odds, uint32_t n)
{
    return &odds[n < NUMBER_UNARY ? n : NUMBER_UNARY - 1];
}

static inline uint16_t *odds_number(uint16_t *odds, uint32_t high)
{
    return &odds[NUMBER_UNARY + (high < NUMBER_TREE ? high : NUMBER_TREE - 1)];
}

#endif
