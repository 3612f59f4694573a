/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time from text and to text. */
#include "time_point.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MILLISECONDS_FROM = 12, /* digits: seconds have eleven until the year 5138 */
    DIGITS_MAX = 15,
    FRACTION_MAX = 9,
    MINUTE_MS = 60000,
};

static const struct unit {
    const char *name;
    int64_t ms;
} units[] = {{"ms", 1}, {"s", 1000}, {"m", MINUTE_MS}, {"h", 3600000}, {"d", 86400000}};

/* Between `min` and `max` digits at `*at`, which steps over them. */
static bool
take_digits(const char **at, size_t min, size_t max, int64_t *ret_number)
{
    int64_t number = 0;
    size_t n = strspn(*at, "0123456789");
    if (n < min || n > max)
        return false;
    for (size_t i = 0; i < n; i++)
        number = number * 10 + (*at)[i] - '0';
    *at += n;
    *ret_number = number;
    return true;
}

static bool
take_byte(const char **at, char byte)
{
    if (**at != byte)
        return false;
    ++*at;
    return true;
}

static bool
read_ago(const char *text, int64_t now_ms, int64_t *ret_ms)
{
    int64_t number = 0, ago_ms = 0;
    if (!take_byte(&text, '-') || !take_digits(&text, 1, DIGITS_MAX, &number))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(text, units[i].name) == 0 &&
            !__builtin_mul_overflow(number, units[i].ms, &ago_ms))
            return !__builtin_sub_overflow(now_ms, ago_ms, ret_ms);
    return false;
}

static bool
read_epoch(const char *text, int64_t *ret_ms)
{
    const char *at = text;
    int64_t number = 0;
    if (!take_digits(&at, 1, DIGITS_MAX, &number) || *at)
        return false;
    *ret_ms = strlen(text) < MILLISECONDS_FROM ? number * 1000 : number;
    return true;
}

static bool
read_date(const char **at, struct tm *day)
{
    int64_t year = 0, month = 0, mday = 0;
    if (!take_digits(at, 4, 4, &year) || !take_byte(at, '-') ||
        !take_digits(at, 2, 2, &month) || !take_byte(at, '-') ||
        !take_digits(at, 2, 2, &mday))
        return false;
    day->tm_year = (int)year - 1900;
    day->tm_mon = (int)month - 1;
    day->tm_mday = (int)mday;
    return month >= 1 && month <= 12 && mday >= 1 && mday <= 31;
}

/* What stands behind the seconds, in milliseconds; further digits are left out. */
static bool
read_fraction(const char **at, int64_t *ret_ms)
{
    static const int64_t scale[] = {100, 10, 1};
    size_t n = strspn(*at, "0123456789");
    if (n == 0 || n > FRACTION_MAX)
        return false;
    for (size_t i = 0; i < n && i < 3; i++)
        *ret_ms += ((*at)[i] - '0') * scale[i];
    *at += n;
    return true;
}

static bool
read_clock(const char **at, int64_t *ret_ms)
{
    int64_t hour = 0, minute = 0, second = 0, fraction_ms = 0;
    if (!take_digits(at, 2, 2, &hour) || !take_byte(at, ':') ||
        !take_digits(at, 2, 2, &minute))
        return false;
    if (take_byte(at, ':') && !take_digits(at, 2, 2, &second))
        return false;
    if (take_byte(at, '.') && !read_fraction(at, &fraction_ms))
        return false;
    *ret_ms = ((hour * 60 + minute) * 60 + second) * 1000 + fraction_ms;
    return hour < 24 && minute < 60 && second < 60;
}

/* Z, +HH:MM, -HH:MM, or nothing; then the end. */
static bool
read_zone(const char *at, int64_t *ret_ms)
{
    int64_t hour = 0, minute = 0;
    if (*at == '\0' || strcmp(at, "Z") == 0)
        return true;
    bool east = *at == '+';
    if ((!take_byte(&at, '+') && !take_byte(&at, '-')) ||
        !take_digits(&at, 2, 2, &hour) || !take_byte(&at, ':') ||
        !take_digits(&at, 2, 2, &minute) || *at || hour > 23 || minute > 59)
        return false;
    *ret_ms = (hour * 60 + minute) * (east ? MINUTE_MS : -MINUTE_MS);
    return true;
}

static bool
read_iso(const char *text, int64_t *ret_ms)
{
    struct tm day = {0};
    int64_t clock_ms = 0, zone_ms = 0;
    if (!read_date(&text, &day))
        return false;
    int mday = day.tm_mday;
    if (*text && (!take_byte(&text, 'T') || !read_clock(&text, &clock_ms) ||
                  !read_zone(text, &zone_ms)))
        return false;
    int64_t seconds = timegm(&day);
    *ret_ms = seconds * 1000 + clock_ms - zone_ms;
    return day.tm_mday == mday; /* 30 February became another day */
}

enum err_kind
time_point_read(
    const char *flag, const char *text, int64_t now_ms, int64_t *ret_ms, struct err *err)
{
    int64_t ms = 0;
    if (!read_ago(text, now_ms, &ms) && !read_epoch(text, &ms) && !read_iso(text, &ms))
        return err_fatal(err, EXIT_USAGE, "bad_value",
                         "%s %.100s: a time like 2026-08-18T06:30Z, -2h, or seconds or "
                         "milliseconds since 1970 is wanted",
                         flag, text);
    *ret_ms = ms;
    return ERR_OK;
}

void
time_point_print(int64_t ms, char ret_text[TIME_TEXT_BYTES])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm utc;
    if (ms < 0 || !gmtime_r(&seconds, &utc) || utc.tm_year + 1900 > 9999) {
        snprintf(ret_text, TIME_TEXT_BYTES, "-");
        return;
    }
    snprintf(ret_text, TIME_TEXT_BYTES, "%04d-%02d-%02dT%02d:%02d:%02dZ",
             (utc.tm_year + 1900) % 10000, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
             utc.tm_min, utc.tm_sec);
}
