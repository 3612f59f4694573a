/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes heddle(1) while building: manual TEMPLATE prints the template with the options of
 * the fleet in place of the line `.\" @fleet` and those of the verbs in place of
 * `.\" @verbs`, so that the page can't say other than --help does.
 */
#include "verb.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"

enum { LINE_BYTES = 1024 };

/* Words that could be taken for requests or macros begin with an empty character. */
static void
add_words(struct buf *out, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, " \n");
        buf_add_str(out, " \\&");
        for (size_t i = 0; i < len; i++) {
            if (text[i] == '-' || text[i] == '\\')
                buf_add_str(out, text[i] == '-' ? "\\" : "\\e\\&");
            if (text[i] != '\\')
                buf_add_byte(out, text[i]);
        }
        text += len + strspn(text + len, " \n");
    }
}

static void
add_verb(struct buf *out, const struct verb *verb)
{
    if (verb->n_options == 0)
        return;
    buf_addf(out, ".Ss Options of heddle %s\n.Dl heddle", verb->name);
    add_words(out, verb->name);
    add_words(out, verb->usage);
    buf_add_byte(out, '\n');
    options_manual(verb->options, verb->n_options, out);
}

static void
add_line(struct buf *out, const char *line)
{
    if (strcmp(line, ".\\\" @fleet\n") == 0) {
        options_manual(fleet_options, n_fleet_options, out);
    } else if (strcmp(line, ".\\\" @run\n") == 0) {
        options_manual(fleet_run_options, n_fleet_run_options, out);
    } else if (strcmp(line, ".\\\" @verbs\n") == 0) {
        for (size_t i = 0; verbs[i]; i++)
            add_verb(out, verbs[i]);
    } else {
        buf_add_str(out, line);
    }
}

int
main(int argc, char **argv)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    char line[LINE_BYTES];
    FILE *template = argc == 2 ? fopen(argv[1], "re") : NULL;
    if (!template) {
        fprintf(stderr, "usage: manual TEMPLATE\n");
        return EXIT_USAGE;
    }
    while (fgets(line, sizeof line, template))
        add_line(&out, line);
    fclose(template);
    struct err err = {0};
    return program_print(&out, &err) ? program_fail("manual", &err) : EXIT_OK;
}
