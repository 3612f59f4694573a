/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any lines as arguments, variables and keys of the fleet's own table: what is refused
 * has a code, what is taken prints on as many lines as there are settings.
 */
#include "fleet_options.h"

#include "cleanup.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static enum err_kind
read_file(void *state, const char *path, struct buf *out, struct err *err)
{
    (void)state;
    if (*path == '\0')
        return err_fatal(err, EXIT_CONFIG, "config_unreadable", "no path");
    buf_add_str(out, path + 1);
    return ERR_OK;
}

/* The lines of `text`, cut in place. */
static int
cut_lines(char *text, char *words[static WORDS + 1])
{
    char *rest = text;
    int n = 0;
    for (char *line = strsep(&rest, "\n"); line && n < WORDS; line = strsep(&rest, "\n"))
        words[n++] = line;
    words[n] = NULL;
    return n;
}

static void
check(const struct err *err, enum err_kind kind)
{
    if (kind && (err->code[0] == '\0' || err->msg[0] == '\0'))
        abort();
}

static void
check_print(const struct options *options)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    size_t n_properties = 0;
    size_t lines = 0;
    options_print(options, &out);
    options_derive_lines(options, &out);
    options_properties(options, &n_properties);
    for (size_t i = 0; i < out.len; i++)
        lines += out.data[i] == '\n';
    if (!out.failed && lines > n_fleet_options + n_fleet_run_options + n_properties)
        abort();
}

static void
set_all(struct options *options, int n, char **words)
{
    char *rest[WORDS];
    int n_rest = 0;
    struct err err = {0};
    for (int i = 0; i + 2 < n; i += 3) {
        err = (struct err){0};
        check(&err, options_set_file(options, "fuzz.ini", i, words[i], words[i + 1],
                                     words[i + 2], &err));
    }
    err = (struct err){0};
    check(&err, options_set_environment(options, words, &err));
    err = (struct err){0};
    check(&err, options_set_arguments(options, n, words, rest, &n_rest, &err));
    if (n_rest > n)
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fleet_settings settings = {0};
    struct option_table tables[] = {
        {fleet_options, n_fleet_options, &settings, false},
        {fleet_run_options, n_fleet_run_options, &settings, false},
    };
    struct options *options = options_new(tables, 2, read_file, NULL, NULL);
    char *text = strndup(len ? (const char *)data : "", len);
    char *words[WORDS + 1];
    if (options && text) {
        options_foreign_sections(options, fleet_sections);
        set_all(options, cut_lines(text, words), words);
        check_print(options);
    }
    free(text);
    options_free(options);
    return 0;
}
