/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses. */
#include "uri.h"

#include <stdio.h>
#include <strings.h>

bool
uri_has_scheme(struct slice uri, const char *scheme)
{
    size_t len = strlen(scheme);
    return uri.len >= len && strncasecmp(uri.data, scheme, len) == 0;
}

/* Where what names the host begins, behind a user and a password. */
static size_t
host_of(struct slice uri)
{
    const char *begin = memmem(uri.data, uri.len, "://", 3);
    if (!begin)
        return 0;
    size_t host = (size_t)(begin + 3 - uri.data);
    for (size_t i = host; i < uri.len && uri.data[i] != '/'; i++)
        if (uri.data[i] == '@')
            host = i + 1;
    return host;
}

void
uri_show(struct slice uri, char *ret_shown, size_t cap)
{
    const char *scheme = uri_has_scheme(uri, "https") ? "https" : "http";
    size_t len = 0;
    while (len < uri.len && uri.data[len] != '?' && uri.data[len] != '#')
        len++;
    uri.len = len;
    size_t host = host_of(uri); /* never behind the cut */
    size_t rest = uri.len - host < cap ? uri.len - host : cap;
    snprintf(ret_shown, cap, "%s://%.*s", scheme, (int)rest, uri.data + host);
}

static int
hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool
uri_decode(struct slice text, char *ret_text, size_t cap)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        int byte = (unsigned char)text.data[i];
        if (byte == '%') {
            int high = i + 2 < text.len ? hex_digit(text.data[i + 1]) : -1;
            int low = high < 0 ? -1 : hex_digit(text.data[i + 2]);
            if (low < 0)
                return false;
            byte = high * 16 + low;
            i += 2;
        }
        if (byte == 0 || len + 1 >= cap)
            return false;
        ret_text[len++] = (char)byte;
    }
    ret_text[len] = '\0';
    return len > 0;
}

bool
file_uri_path(struct slice uri, char ret_path[PATH_MAX])
{
    static const char scheme[] = "file://";
    static const char host[] = "localhost/";
    if (!uri_has_scheme(uri, scheme))
        return false;
    struct slice rest = {uri.data + sizeof scheme - 1, uri.len - (sizeof scheme - 1)};
    if (uri_has_scheme(rest, host))
        rest = (struct slice){rest.data + sizeof host - 2, rest.len - (sizeof host - 2)};
    return rest.len > 0 && rest.data[0] == '/' && uri_decode(rest, ret_path, PATH_MAX);
}

static bool
is_unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr("-._~/", c) != NULL;
}

struct slice
file_uri_make(struct slice path, struct arena *arena)
{
    static const char digits[] = "0123456789ABCDEF";
    static const char scheme[] = "file://";
    char *uri = arena_alloc(arena, sizeof scheme + path.len * 3);
    if (!uri)
        return (struct slice){0};
    memcpy(uri, scheme, sizeof scheme);
    size_t len = sizeof scheme - 1;
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.data[i];
        if (c != '\0' && is_unreserved(c)) {
            uri[len++] = (char)c;
            continue;
        }
        uri[len++] = '%';
        uri[len++] = digits[c >> 4];
        uri[len++] = digits[c & 0xF];
    }
    return (struct slice){uri, len};
}
