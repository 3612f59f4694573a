/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a writer's types and fields are read as which of ours. */
#include "schema_match.h"

#include <string.h>

static const char *
last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static enum schema_fit
fit_names(const struct schema_node *writer, const struct schema_node *reader)
{
    if (strcmp(writer->name, reader->name) == 0)
        return SCHEMA_FIT_EXACT;
    if (strcmp(writer->base_name, reader->base_name) == 0)
        return SCHEMA_FIT_NAMED;
    for (size_t i = 0; i < reader->n_aliases; i++)
        if (strcmp(writer->base_name, last_part(reader->aliases[i])) == 0)
            return SCHEMA_FIT_NAMED;
    return SCHEMA_FIT_NONE;
}

static bool
is_promoted(enum schema_type writer, enum schema_type reader)
{
    switch (reader) {
    case SCHEMA_LONG:
        return writer == SCHEMA_INT;
    case SCHEMA_FLOAT:
        return writer == SCHEMA_INT || writer == SCHEMA_LONG;
    case SCHEMA_DOUBLE:
        return writer == SCHEMA_INT || writer == SCHEMA_LONG || writer == SCHEMA_FLOAT;
    case SCHEMA_STRING:
        return writer == SCHEMA_BYTES;
    case SCHEMA_BYTES:
        return writer == SCHEMA_STRING;
    case SCHEMA_NULL:
    case SCHEMA_BOOLEAN:
    case SCHEMA_INT:
    case SCHEMA_FIXED:
    case SCHEMA_ENUM:
    case SCHEMA_RECORD:
    case SCHEMA_ARRAY:
    case SCHEMA_MAP:
    case SCHEMA_UNION:
        return false;
    }
    return false;
}

enum schema_fit
schema_fit(const struct schema_node *writer, const struct schema_node *reader)
{
    if (writer->type != reader->type)
        return is_promoted(writer->type, reader->type) ? SCHEMA_FIT_PROMOTED
                                                       : SCHEMA_FIT_NONE;
    if (!writer->name)
        return SCHEMA_FIT_EXACT;
    if (writer->type == SCHEMA_FIXED && writer->fixed_size != reader->fixed_size)
        return SCHEMA_FIT_NONE;
    return fit_names(writer, reader);
}

size_t
schema_fit_branch(const struct schema_node *writer, const struct schema_node *reader)
{
    size_t best = reader->n_branches;
    enum schema_fit best_fit = SCHEMA_FIT_NONE;
    for (size_t i = 0; i < reader->n_branches; i++) {
        enum schema_fit found = schema_fit(writer, reader->branches[i]);
        if (found > best_fit) {
            best = i;
            best_fit = found;
        }
    }
    return best;
}

static const struct schema_field *
find_field(const struct schema_node *record, const char *name)
{
    for (size_t i = 0; i < record->n_fields; i++)
        if (strcmp(record->fields[i].name, name) == 0)
            return &record->fields[i];
    return NULL;
}

const struct schema_field *
schema_fit_field(const struct schema_node *writer,
                 const struct schema_node *reader,
                 const struct schema_field *field)
{
    const struct schema_field *found = find_field(writer, field->name);
    for (size_t i = 0; !found && i < field->n_aliases; i++)
        if (!find_field(reader, field->aliases[i]))
            found = find_field(writer, field->aliases[i]);
    return found;
}
