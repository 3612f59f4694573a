/* SPDX-License-Identifier: Apache-2.0 */
/* heddle gate: the verdict on what is on disk, by the worker's own functions. */
#include "verb.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "details.h"
#include "external.h"
#include "gate_folder.h"
#include "input_json.h"
#include "report.h"
#include "split_request.h"

/* What may be made of one file. */
#define ARENA_BYTES  ((size_t)8 << 30)
#define OUTPUT_BYTES ((size_t)1 << 30)

static struct {
    const char *framework;
    const char *requested_mode;
    const char *request;
    bool json;
} settings;

static const struct option gate_options[] = {
    {.name = "framework",
     .type = OPTION_TEXT,
     .offset = offsetof(__typeof__(settings), framework),
     .arg = "NAME",
     .traits = OPTION_CLI_ONLY,
     .help = "Framework of the request: vllm, sglang, xdit, and so on."},
    {.name = "requested_mode",
     .type = OPTION_TEXT,
     .offset = offsetof(__typeof__(settings), requested_mode),
     .arg = "MODE",
     .traits = OPTION_CLI_ONLY,
     .help = "Mode that is asked for; else mixed, or generic for scripts."},
    {.name = "request",
     .type = OPTION_TEXT,
     .offset = offsetof(__typeof__(settings), request),
     .arg = "JSON",
     .traits = OPTION_CLI_ONLY,
     .help = "Fields of the request, an object; absent ones: those of FILE."},
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(__typeof__(settings), json),
     .traits = OPTION_CLI_ONLY,
     .help = "Prints one document: input, every verdict, the table."},
};

struct inputs {
    struct arena arena;
    struct buf bytes;
    struct json doc;
    struct json_value record; /* the split record; JSON_NONE: FILE is none */
    struct json request_doc;
    struct slice remark;
};

static void
inputs_done(struct inputs *inputs)
{
    buf_done(&inputs->bytes);
    arena_done(&inputs->arena);
}

static enum err_kind
no_memory(struct err *err)
{
    return err_no_memory(err, "the input");
}

static struct slice
no_variable(const void *state, const char *name)
{
    (void)state;
    (void)name;
    return (struct slice){0};
}

/* --- the request -------------------------------------------------------------------- */

static enum err_kind
read_request_option(struct inputs *inputs, struct json_value *ret_object, struct err *err)
{
    struct err cause = {0};
    *ret_object = JSON_NONE;
    if (!settings.request)
        return ERR_OK;
    if (json_read(&inputs->request_doc, slice_of(settings.request), &inputs->arena,
                  &cause) ||
        json_kind(json_root(&inputs->request_doc)) != JSON_OBJECT)
        return err_fatal(err, EXIT_USAGE, "bad_value",
                         "--request %.200s is no JSON object", settings.request);
    *ret_object = json_root(&inputs->request_doc);
    return ERR_OK;
}

static struct slice
last_text(struct json_value own, struct json_value given, const char *name)
{
    struct json_value value = json_get(given, name);
    return json_string(json_kind(value) == JSON_ABSENT ? json_get(own, name) : value);
}

/*
 * The request's framework, or the campaign's. What a record says of its kind must agree
 * with it, as in an event; what --request says stands.
 */
static enum err_kind
choose_framework(struct inputs *inputs,
                 struct json_value own,
                 struct json_value given,
                 struct report_case *given_case,
                 struct err *err)
{
    struct gate_request *request = &given_case->request;
    struct split_hints none = {0};
    struct split_request_answer answer;
    struct split_ask ask = {
        .framework = request->framework,
        .campaign_framework = last_text(own, given, "campaign_framework"),
    };
    struct slice recorded = json_string(json_get(own, "framework_kind"));
    bool contradicts =
        recorded.data && !settings.framework &&
        framework_kind_of_name(recorded) != framework_kind_of(request->framework);
    if (split_request(&ask, (struct slice){0}, &none, &inputs->arena, &answer, err))
        return err->kind;
    given_case->notes = answer.notes;
    request->framework = answer.framework;
    struct slice kind = json_string(json_get(given, "framework_kind"));
    bool replaced = json_kind(json_get(given, "framework")) != JSON_ABSENT;
    if (kind.data)
        request->framework_kind = kind;
    else if (!contradicts || replaced)
        request->framework_kind = slice_of(framework_kind_names[answer.kind]);
    return ERR_OK;
}

static enum err_kind
make_request(struct inputs *inputs, struct report_case *given_case, struct err *err)
{
    struct gate_request *request = &given_case->request;
    struct json_value own = json_get(inputs->record, "request");
    struct json_value given;
    *request = (struct gate_request){
        .request_id = SLICE("r1"), .framework = SLICE(""), .attempt = 1};
    if (read_request_option(inputs, &given, err))
        return err->kind;
    input_json_request(own, request);
    input_json_request(given, request);
    if (settings.framework)
        request->framework = slice_of(settings.framework);
    if (settings.requested_mode)
        request->requested_mode = slice_of(settings.requested_mode);
    return choose_framework(inputs, own, given, given_case, err);
}

/* --- what FILE is ------------------------------------------------------------------- */

static bool
is_record(struct json_value root)
{
    return json_kind(json_get(root, "result")) == JSON_STRING &&
           json_kind(json_get(root, "chunks")) == JSON_ARRAY;
}

static enum err_kind
malformed(const char *path, const struct err *cause, struct err *err)
{
    return err_fatal(err, EXIT_USAGE, cause->code, "%.300s: %s", path, cause->msg);
}

static enum err_kind
take_rows(const char *path,
          enum err_kind kind,
          const struct err *cause,
          const struct details_row *rows,
          size_t n,
          struct inputs *inputs,
          struct gate_split *split,
          struct err *err)
{
    if (kind == ERR_FATAL) {
        *err = *cause;
        return kind;
    }
    if (kind)
        return malformed(path, cause, err);
    return details_chunks(rows, n, &inputs->arena, split) ? ERR_OK : no_memory(err);
}

static enum err_kind
take_table(const char *path,
           struct json_value array,
           struct inputs *inputs,
           struct gate_split *split,
           struct err *err)
{
    struct details_row *rows = NULL;
    struct err cause = {0};
    size_t n = 0;
    enum err_kind kind = json_kind(array) == JSON_ARRAY
                             ? details_read_json(array, &inputs->arena, &rows, &n, &cause)
                             : details_read_csv(buf_slice(&inputs->bytes), &inputs->arena,
                                                &rows, &n, &cause);
    return take_rows(path, kind, &cause, rows, n, inputs, split, err);
}

/* Prints what candidates_read() answers. */
static enum err_kind
print_external(const char *path, struct inputs *inputs, struct err *err)
{
    CLEANUP(buf_done) struct buf out;
    struct external_table table;
    struct err cause = {0};
    buf_init(&out, OUTPUT_BYTES);
    enum err_kind kind =
        candidates_read(buf_slice(&inputs->bytes), &inputs->arena, &table, &cause);
    if (kind == ERR_RECORD) {
        buf_addf(&out, "{\"dead_letter\": \"%s\"}\n", cause.code);
        if (program_print(&out, err))
            return err->kind;
        return err_fatal(err, EXIT_NEGATIVE, cause.code, "%.300s: %s", path, cause.msg);
    }
    if (kind) {
        *err = cause;
        return kind;
    }
    candidates_write(&table, &out);
    buf_add_byte(&out, '\n');
    return program_print(&out, err);
}

static char
first_byte(const struct buf *bytes)
{
    struct slice text = buf_slice(bytes);
    if (text.len >= 3 && memcmp(text.data, "\xEF\xBB\xBF", 3) == 0)
        text = (struct slice){text.data + 3, text.len - 3};
    text = amount_trim(text);
    if (text.len == 0)
        return '\0';
    return text.data[0];
}

/* True: the answer was printed already. */
static enum err_kind
read_bytes(const char *path,
           struct inputs *inputs,
           struct report_case *given_case,
           bool *ret_done,
           struct err *err)
{
    struct err cause = {0};
    char first = first_byte(&inputs->bytes);
    if (first != '{' && first != '[')
        return take_table(path, JSON_NONE, inputs, &given_case->split, err);
    enum err_kind kind =
        json_read(&inputs->doc, buf_slice(&inputs->bytes), &inputs->arena, &cause);
    struct json_value root = kind ? JSON_NONE : json_root(&inputs->doc);
    if (json_kind(root) == JSON_ARRAY)
        return take_table(path, root, inputs, &given_case->split, err);
    if (!is_record(root)) {
        *ret_done = true;
        return print_external(path, inputs, err);
    }
    inputs->record = root;
    given_case->chunks = json_get(root, "chunks");
    return input_json_record(root, &inputs->arena, &given_case->split) ? ERR_OK
                                                                       : no_memory(err);
}

static enum err_kind
read_folder(const char *path,
            struct inputs *inputs,
            struct report_case *given_case,
            bool *ret_done,
            struct err *err)
{
    struct slice record = arena_printf(&inputs->arena, "%s/split.json", path);
    if (!record.data)
        return no_memory(err);
    if (access(record.data, F_OK))
        return gate_folder_read(path, &inputs->arena, &given_case->split, &inputs->remark,
                                err);
    if (gate_read_file(record.data, &inputs->bytes, err))
        return err->kind;
    return read_bytes(record.data, inputs, given_case, ret_done, err);
}

static enum err_kind
read_input(const char *path,
           struct inputs *inputs,
           struct report_case *given_case,
           bool *ret_done,
           struct err *err)
{
    struct stat status;
    if (strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return read_folder(path, inputs, given_case, ret_done, err);
    if (gate_read_file(path, &inputs->bytes, err))
        return err->kind;
    return read_bytes(path, inputs, given_case, ret_done, err);
}

/* --- the answer --------------------------------------------------------------------- */

static enum err_kind
print_report(const struct report *report, const struct inputs *inputs, struct err *err)
{
    CLEANUP(buf_done) struct buf out;
    buf_init(&out, OUTPUT_BYTES);
    if (inputs->remark.data)
        fprintf(stderr, "heddle gate: %s\n", inputs->remark.data);
    if (settings.json)
        report_write_json(report, &out);
    else
        report_write_text(report, &out);
    if (buf_check(&out, "the answer", err))
        return err->kind;
    return program_print(&out, err);
}

static int
judge(const char *path, struct inputs *inputs, struct err *err)
{
    static const struct gate_settings none;
    struct report_case given = {.chunks = JSON_NONE};
    struct gate_config config;
    struct report report;
    bool done = false;
    if (read_input(path, inputs, &given, &done, err) || done)
        return EXIT_OK;
    gate_config_resolve(&none, no_variable, NULL, &config, NULL);
    if (make_request(inputs, &given, err) ||
        report_make(&given, &config, &inputs->arena, &report, err) ||
        print_report(&report, inputs, err))
        return EXIT_OK;
    return report_accepted(&report) ? EXIT_OK : EXIT_NEGATIVE;
}

static int
run(const struct program_call *call, struct err *err)
{
    CLEANUP(inputs_done) struct inputs inputs = {.record = JSON_NONE};
    int status = EXIT_OK;
    arena_init(&inputs.arena, ARENA_BYTES);
    buf_init(&inputs.bytes, GATE_FILE_MAX_BYTES);
    if (call->n_rest == 0)
        err_fatal(err, EXIT_USAGE, "usage",
                  "no file is given: heddle gate FILE|DIR, - for standard input");
    else if (!verb_refuse_rest(call, 1, err))
        status = judge(call->rest[0], &inputs, err);
    return err->kind ? err_exit_code(err) : status;
}

const struct verb verb_gate = {
    .name = "gate",
    .usage = "[OPTION]... FILE|DIR",
    .summary = "Prints the verdict on a split, and why.",
    .details =
        "FILE is what its content says: a split record, an external table of "
        "candidates,\n"
        "or the execution_details.csv or .json of an older splitter; - is standard "
        "input.\n"
        "DIR is the folder that a splitter left. Settings and environment are not read.\n"
        "The exit status is 0 when a chunk is accepted, 1 when none is.",
    .options = gate_options,
    .n_options = sizeof gate_options / sizeof gate_options[0],
    .settings = &settings,
    .no_settings = true,
    .run = run,
};
