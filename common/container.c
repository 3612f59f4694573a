/* SPDX-License-Identifier: Apache-2.0 */
/* Container files over avro-c. */
#include "container.h"

#include <stdlib.h>

#include <avro.h>

#include "buf.h"
#include "schema.h"

enum { SCHEMA_BYTES = 1 << 20, ALLOCATION_BYTES = 256 << 20 };

struct container {
    char *path;
    avro_file_reader_t reader;
    avro_schema_t schema;
    avro_value_iface_t *iface;
    avro_value_t value;
    struct schema *ours; /* the same schema as our own reader vets it */
    char *text;
    struct buf body;
};

/* The library takes the lengths in a file at their word before it reads on. */
static void *
allocate(void *state, void *memory, size_t old_size, size_t size)
{
    (void)state;
    (void)old_size;
    if (size == 0) {
        free(memory);
        return NULL;
    }
    return size > ALLOCATION_BYTES ? NULL : realloc(memory, size);
}

static enum err_kind
unreadable(const struct container *container, const char *why, struct err *err)
{
    return err_fatal(err, EXIT_CONFIG, "input_unreadable", "%s: %s", container->path,
                     why);
}

static enum err_kind
take_schema(struct container *container, struct err *err)
{
    container->text = calloc(1, SCHEMA_BYTES);
    if (!container->text)
        return err_no_memory(err, "a container's schema");
    avro_writer_t to = avro_writer_memory(container->text, SCHEMA_BYTES - 1);
    int failed = !to || avro_schema_to_json(container->schema, to);
    if (to)
        avro_writer_free(to);
    if (failed)
        return unreadable(container, avro_strerror(), err);
    struct err why;
    container->ours = schema_parse(slice_of(container->text), &why);
    return container->ours ? ERR_OK : unreadable(container, why.msg, err);
}

static enum err_kind
open_reader(struct container *container, struct err *err)
{
    avro_set_allocator(allocate, NULL);
    if (avro_file_reader(container->path, &container->reader))
        return unreadable(container, avro_strerror(), err);
    container->schema = avro_file_reader_get_writer_schema(container->reader);
    if (take_schema(container, err))
        return err->kind;
    container->iface = avro_generic_class_from_schema(container->schema);
    if (!container->iface || avro_generic_value_new(container->iface, &container->value))
        return unreadable(container, avro_strerror(), err);
    return ERR_OK;
}

struct container *
container_open(const char *path, struct err *err)
{
    struct container *container = calloc(1, sizeof *container);
    if (container)
        container->path = strdup(path);
    if (!container || !container->path)
        err_no_memory(err, "a container");
    else if (open_reader(container, err) == ERR_OK)
        return container;
    container_close(container);
    return NULL;
}

void
container_close(struct container *container)
{
    if (!container)
        return;
    if (container->value.iface)
        avro_value_decref(&container->value);
    if (container->iface)
        avro_value_iface_decref(container->iface);
    if (container->schema)
        avro_schema_decref(container->schema);
    if (container->reader)
        avro_file_reader_close(container->reader);
    schema_free(container->ours);
    buf_done(&container->body);
    free(container->text);
    free(container->path);
    free(container);
}

struct slice
container_schema(const struct container *container)
{
    return slice_of(container->text);
}

uint64_t
container_fingerprint(const struct container *container)
{
    return schema_crc64(container->ours);
}

/* The value's bytes again, which are the canonical ones. */
static enum err_kind
write_body(struct container *container, struct err *err)
{
    size_t size = 0;
    buf_reset(&container->body);
    if (avro_value_sizeof(&container->value, &size))
        return unreadable(container, avro_strerror(), err);
    if (!buf_reserve(&container->body, size + 1))
        return buf_check(&container->body, "a container's value", err);
    avro_writer_t to = avro_writer_memory(container->body.data, (int64_t)size);
    int failed = !to || avro_value_write(to, &container->value);
    if (to)
        avro_writer_free(to);
    container->body.len = size;
    return failed ? unreadable(container, avro_strerror(), err) : ERR_OK;
}

enum err_kind
container_next(struct container *container, struct slice *ret_body, struct err *err)
{
    avro_value_reset(&container->value);
    int answer = avro_file_reader_read_value(container->reader, &container->value);
    *ret_body = (struct slice){0};
    if (answer == EOF)
        return ERR_OK;
    if (answer)
        return unreadable(container, avro_strerror(), err);
    if (write_body(container, err))
        return err->kind;
    *ret_body = buf_slice(&container->body);
    return ERR_OK;
}
