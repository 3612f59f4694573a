/* SPDX-License-Identifier: Apache-2.0 */
/* The table of verbs and what verbs share. */
#include "verb.h"

#include <string.h>

#include "cleanup.h"

#define VERB(name) extern const struct verb verb_##name;
#include "verb_list.h"
#undef VERB

#define VERB(name) &verb_##name,
const struct verb *const verbs[] = {
#include "verb_list.h"
    NULL,
};
#undef VERB

enum err_kind
verb_refuse_rest(const struct program_call *call, int from, struct err *err)
{
    if (call->n_rest <= from)
        return ERR_OK;
    return err_fatal(err, EXIT_USAGE, "unexpected_argument",
                     "%.200s is one argument too many; --help says what is taken",
                     call->rest[from]);
}

enum err_kind
verb_choose(const char *what,
            const char *word,
            const char *const *names,
            size_t *ret_position,
            struct err *err)
{
    CLEANUP(buf_done) struct buf all = BUF_INIT;
    size_t n = 0;
    for (; names[n]; n++) {
        if (word && strcmp(word, names[n]) == 0) {
            *ret_position = n;
            return ERR_OK;
        }
        buf_addf(&all, "%s%s", n ? ", " : "", names[n]);
    }
    const char *nearest = word ? options_nearest(word, names, n) : NULL;
    if (nearest)
        return err_fatal(err, EXIT_USAGE, "unknown_verb",
                         "%.100s is no %s; did you mean %s?", word, what, nearest);
    return err_fatal(err, EXIT_USAGE, "unknown_verb", "%.100s%s %s is wanted: one of %s",
                     word ? word : "", word ? ":" : "a", what, buf_text(&all));
}
