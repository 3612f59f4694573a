/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks from JSON. */
#include "chunk_json.h"

#include "amount.h"

/* Beyond it a count of nanoseconds is no int64_t. */
#define NS_LIMIT 9.2e18

static const char *const kinds[] = {"mixed",   "decode_only", "prefilldecode",
                                    "generic", "range",       NULL};
static const char *const categories[] = {"kernel", "gpu_memcpy", "gpu_memset", NULL};
static const char *const launch_kinds[] = {"eager", "graph", "unlinked", NULL};
static const char *const dims_from[] = {"op", "ancestor", NULL};

bool
chunk_json_ns(struct json_value microseconds, int64_t *ret_ns)
{
    struct amount ns = amount_nanoseconds(amount_of_json(microseconds));
    if (!ns.known || !isfinite(ns.value) || fabs(ns.value) > NS_LIMIT)
        return false;
    *ret_ns = (int64_t)ns.value;
    return true;
}

static int64_t
ns_of(struct json_value object, const char *name)
{
    int64_t ns = 0;
    chunk_json_ns(json_get(object, name), &ns);
    return ns;
}

static int64_t
count_of(struct json_value object, const char *name)
{
    struct json_value value = json_get(object, name);
    int64_t count = 0;
    double real;
    if (!json_int(value, &count) && json_double(value, &real) && fabs(real) < NS_LIMIT)
        count = (int64_t)real;
    return count;
}

/* The position of a name, `otherwise` for any other. */
static int32_t
name_of(struct json_value value, const char *const *names, int32_t otherwise)
{
    struct slice text = json_string(value);
    for (int32_t i = 0; names[i]; i++)
        if (slice_is(text, names[i]))
            return i;
    return otherwise;
}

static void
read_launch(struct json_value object, struct launch_group *launch)
{
    int32_t from = name_of(json_get(object, "dims_from"), dims_from, -1);
    *launch = (struct launch_group){
        .kind = name_of(json_get(object, "kind"), launch_kinds, LAUNCH_KIND_UNLINKED),
        .op = json_string(json_get(object, "op")),
        .has_dims_from = from >= 0,
        .dims_from = from >= 0 ? from : 0,
        .input_dims = json_string(json_get(object, "input_dims")),
        .input_type = json_string(json_get(object, "input_type")),
        .calls = count_of(object, "calls"),
        .total_ns = ns_of(object, "total_us"),
    };
}

static void
read_eager(struct json_value object, struct eager_shape *shape)
{
    *shape = (struct eager_shape){
        .input_dims = json_string(json_get(object, "input_dims")),
        .input_type = json_string(json_get(object, "input_type")),
        .calls = count_of(object, "calls"),
        .total_ns = ns_of(object, "total_us"),
    };
}

/* An empty list of as many items as `array` has. */
static void *
make_list(struct json_value array,
          size_t size,
          struct arena *arena,
          struct list *ret_list)
{
    size_t n = json_kind(array) == JSON_ARRAY ? json_count(array) : 0;
    *ret_list = (struct list){arena_calloc(arena, n, size), n};
    return ret_list->items;
}

static bool
read_launches(struct json_value array, struct arena *arena, struct list *ret_list)
{
    struct launch_group *launches = make_list(array, sizeof *launches, arena, ret_list);
    struct json_iter iter = json_iter(array);
    struct slice key;
    struct json_value item;
    for (size_t i = 0; launches && i < ret_list->n && json_next(&iter, &key, &item); i++)
        read_launch(item, &launches[i]);
    return launches != NULL;
}

static bool
read_eager_shapes(struct json_value array, struct arena *arena, struct list *ret_list)
{
    struct eager_shape *shapes = make_list(array, sizeof *shapes, arena, ret_list);
    struct json_iter iter = json_iter(array);
    struct slice key;
    struct json_value item;
    for (size_t i = 0; shapes && i < ret_list->n && json_next(&iter, &key, &item); i++)
        read_eager(item, &shapes[i]);
    return shapes != NULL;
}

static bool
read_texts(struct json_value array, struct arena *arena, struct list *ret_list)
{
    struct slice *texts = make_list(array, sizeof *texts, arena, ret_list);
    struct json_iter iter = json_iter(array);
    struct slice key;
    struct json_value item;
    size_t n = 0;
    while (texts && n < ret_list->n && json_next(&iter, &key, &item))
        if (json_kind(item) == JSON_STRING)
            texts[n++] = json_string(item);
    ret_list->n = n;
    return texts != NULL;
}

static struct slice
text_or_empty(struct json_value value)
{
    struct slice text = json_string(value);
    return text.data ? text : SLICE("");
}

bool
chunk_json_row(struct json_value object, struct arena *arena, struct kernel_row *row)
{
    *row = (struct kernel_row){
        .name = text_or_empty(json_get(object, "name")),
        .category =
            name_of(json_get(object, "category"), categories, KERNEL_CATEGORY_KERNEL),
        .calls = count_of(object, "calls"),
        .total_ns = ns_of(object, "total_us"),
        .min_ns = ns_of(object, "min_us"),
        .max_ns = ns_of(object, "max_us"),
        .mean_ns = ns_of(object, "mean_us"),
        .collective = json_is_true(json_get(object, "collective")),
        .graph_launch_calls = count_of(object, "graph_launch_calls"),
        .unknown_launcher_calls = count_of(object, "unknown_launcher_calls"),
        .combinations = count_of(object, "combinations"),
        .omitted_launches = count_of(object, "omitted_launches"),
        .omitted_launch_calls = count_of(object, "omitted_launch_calls"),
        .omitted_launch_ns = ns_of(object, "omitted_launch_us"),
        .omitted_eager_shapes = count_of(object, "omitted_eager_shapes"),
        .launch_grid = json_string(json_get(object, "launch_grid")),
        .launch_block = json_string(json_get(object, "launch_block")),
        .frame = json_string(json_get(object, "frame")),
        .frame_calls = count_of(object, "frame_calls"),
    };
    return read_launches(json_get(object, "launches"), arena, &row->launches) &&
           read_eager_shapes(json_get(object, "eager_shapes"), arena,
                             &row->eager_shapes) &&
           read_texts(json_get(object, "streams"), arena, &row->streams);
}

bool
chunk_json_read(struct json_value object,
                struct arena *arena,
                struct split_chunk *ret_chunk)
{
    struct json_value array = json_get(object, "kernels");
    *ret_chunk = (struct split_chunk){
        .kind = name_of(json_get(object, "kind"), kinds, CHUNK_KIND_RANGE),
        .file = text_or_empty(json_get(object, "file")),
    };
    ret_chunk->has_wall_ns =
        chunk_json_ns(json_get(object, "wall_us"), &ret_chunk->wall_ns);
    struct kernel_row *rows = make_list(array, sizeof *rows, arena, &ret_chunk->kernels);
    struct json_iter iter = json_iter(array);
    struct slice key;
    struct json_value item;
    for (size_t i = 0; rows && i < ret_chunk->kernels.n && json_next(&iter, &key, &item);
         i++)
        if (!chunk_json_row(item, arena, &rows[i]))
            return false;
    return rows != NULL;
}
