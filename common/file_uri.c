/* SPDX-License-Identifier: Apache-2.0 */
/* file:// addresses. */
#include "file_uri.h"

#include <strings.h>

bool
uri_has_scheme(struct slice uri, const char *scheme)
{
    size_t len = strlen(scheme);
    return uri.len >= len && strncasecmp(uri.data, scheme, len) == 0;
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

/* Undoes %XX into `path`; false for a bad escape, a zero byte, or no room. */
static bool
decode_percent(struct slice text, char path[PATH_MAX])
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
        if (byte == 0 || len + 1 == PATH_MAX)
            return false;
        path[len++] = (char)byte;
    }
    path[len] = '\0';
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
    return rest.len > 0 && rest.data[0] == '/' && decode_percent(rest, ret_path);
}
