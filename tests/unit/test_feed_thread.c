/* SPDX-License-Identifier: Apache-2.0 */
/* A trace decoded ahead, and traces split side by side: nothing is shared. */
#include "feed_thread.h"

#include "document.h"
#include "split.h"
#include "unit.h"

#include <pthread.h>

enum { TEXT_BYTES = 3 * FEED_PIECE + 777, JOBS = 4 };

/* The bytes of a trace; a read at `fails_at` fails. */
struct memory {
    struct slice bytes;
    size_t at;
    size_t fails_at;
};

static enum err_kind
rewind_memory(void *state, struct err *err)
{
    struct memory *memory = state;
    (void)err;
    memory->at = 0;
    return ERR_OK;
}

static enum err_kind
read_memory(void *state, char *buf, size_t cap, size_t *ret_len, struct err *err)
{
    struct memory *memory = state;
    size_t left = memory->bytes.len - memory->at;
    if (memory->fails_at && memory->at >= memory->fails_at)
        return err_set(err, ERR_RETRY, "io", "the disk is gone");
    *ret_len = left < cap ? left : cap;
    memcpy(buf, memory->bytes.data + memory->at, *ret_len);
    memory->at += *ret_len;
    return ERR_OK;
}

static struct split_limits limits;

static struct unpack *
unpack_of(struct memory *memory)
{
    struct split_source source = {memory, rewind_memory, read_memory};
    limits = SPLIT_LIMITS_DEFAULT;
    struct unpack *unpack = unpack_new(&source, &limits, UNPACK_ISAL);
    assert_non_null(unpack);
    return unpack;
}

static char *
make_text(void)
{
    char *text = malloc(TEXT_BYTES);
    assert_non_null(text);
    for (size_t i = 0; i < TEXT_BYTES; i++)
        text[i] = (char)('a' + i * 7 % 25);
    return text;
}

/* Reads on and checks that the text is `text`; how much of it came. */
static size_t
read_text(const struct feed *feed, const char *text, size_t most)
{
    size_t at = 0;
    size_t keep = 0;
    for (;;) {
        char *piece;
        size_t len;
        assert_int_equal(feed->next(feed->state, keep, &piece, &len, NULL), ERR_OK);
        assert_memory_equal(piece, text + at - keep, len);
        if (len == keep || at >= most)
            return at;
        at += len - keep;
        keep = len < 1000 ? len : 1000;
    }
}

static void
gives_the_text_with_what_was_kept_in_front(void **state)
{
    (void)state;
    char *text = make_text();
    struct memory memory = {.bytes = {text, TEXT_BYTES}};
    struct unpack *unpack = unpack_of(&memory);
    struct feed_thread *thread = feed_thread_new(unpack);
    struct feed feed = feed_thread_feed(thread);

    assert_int_equal(feed.rewind(feed.state, NULL), ERR_OK);
    assert_int_equal(read_text(&feed, text, SIZE_MAX), TEXT_BYTES);

    assert_int_equal(feed.end(feed.state)->problem, UNPACK_WHOLE);
    feed_thread_free(thread);
    unpack_free(unpack);
    free(text);
}

static void
begins_anew_in_the_middle(void **state)
{
    (void)state;
    char *text = make_text();
    struct memory memory = {.bytes = {text, TEXT_BYTES}};
    struct unpack *unpack = unpack_of(&memory);
    struct feed_thread *thread = feed_thread_new(unpack);
    struct feed feed = feed_thread_feed(thread);

    for (size_t most = 0; most < TEXT_BYTES; most += FEED_PIECE) {
        assert_int_equal(feed.rewind(feed.state, NULL), ERR_OK);
        read_text(&feed, text, most);
    }
    assert_int_equal(feed.rewind(feed.state, NULL), ERR_OK);
    assert_int_equal(read_text(&feed, text, SIZE_MAX), TEXT_BYTES);

    /* And is given up in the middle. */
    assert_int_equal(feed.rewind(feed.state, NULL), ERR_OK);
    read_text(&feed, text, 1);
    feed_thread_free(thread);
    unpack_free(unpack);
    free(text);
}

static void
hands_over_what_the_source_says(void **state)
{
    (void)state;
    char *text = make_text();
    struct memory memory = {.bytes = {text, TEXT_BYTES}, .fails_at = FEED_PIECE};
    struct unpack *unpack = unpack_of(&memory);
    struct feed_thread *thread = feed_thread_new(unpack);
    struct feed feed = feed_thread_feed(thread);
    struct err err = {0};
    enum err_kind kind = feed.rewind(feed.state, &err);

    for (int i = 0; i < 10 && !kind; i++) {
        char *piece;
        size_t len;
        kind = feed.next(feed.state, 0, &piece, &len, &err);
    }

    assert_int_equal(kind, ERR_RETRY);
    assert_string_equal(err.code, "io");
    feed_thread_free(thread);
    unpack_free(unpack);
    free(text);
}

/* --- side by side ------------------------------------------------------------------ */

struct job {
    struct buf trace;
    struct buf answer;
    enum err_kind kind;
};

/* A trace of steps of `n_kernels` launches each. */
static void
make_trace(struct buf *out, int n_kernels)
{
    int ts = 1000;
    int id = 1;
    buf_add_str(out, "{\"traceEvents\": [");
    for (int step = 0; step < 40; step++) {
        buf_addf(out,
                 "%s{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
                 "\"step[DECODE bs=8]\", \"pid\": 1, \"tid\": 1, \"ts\": %d, \"dur\": "
                 "%d}",
                 step ? ", " : "", ts, n_kernels * 10);
        for (int i = 0; i < n_kernels; i++, id++)
            buf_addf(out,
                     ", {\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": "
                     "\"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1, \"ts\": %d, \"dur\": "
                     "2, \"args\": {\"correlation\": %d}}, {\"ph\": \"X\", \"cat\": "
                     "\"kernel\", \"name\": \"k%d\", \"pid\": 0, \"tid\": 7, \"ts\": %d, "
                     "\"dur\": 5, \"args\": {\"correlation\": %d, \"stream\": 7}}",
                     ts + i * 10, id, i, ts + i * 10 + 3, id);
        ts += n_kernels * 10 + 5;
    }
    buf_add_str(out, "]}");
}

static void *
run_job(void *state)
{
    struct job *job = state;
    struct memory memory = {.bytes = buf_slice(&job->trace)};
    struct split_limits own = SPLIT_LIMITS_DEFAULT;
    struct split_source source = {&memory, rewind_memory, read_memory};
    struct unpack *unpack = unpack_new(&source, &own, UNPACK_ISAL);
    struct feed_thread *thread = feed_thread_new(unpack);
    struct split_job split = {
        .feed = feed_thread_feed(thread),
        .limits = own,
        .params = SPLIT_PARAMS_DEFAULT,
        .base = SLICE("trace"),
        .lists_metadata = true,
    };
    struct split_answer answer;
    buf_reset(&job->answer);
    job->kind = split_derive(&split, &answer, NULL);
    if (!job->kind)
        document_add(&job->answer, &answer, EVENTS_DIGEST, NULL);
    split_answer_done(&answer);
    feed_thread_free(thread);
    unpack_free(unpack);
    return NULL;
}

static void
splits_side_by_side_as_one_after_the_other(void **state)
{
    (void)state;
    struct job jobs[JOBS];
    char *alone[JOBS];
    pthread_t threads[JOBS];
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct job){.trace = BUF_INIT, .answer = BUF_INIT};
        make_trace(&jobs[i].trace, 20 + i);
        run_job(&jobs[i]);
        assert_int_equal(jobs[i].kind, ERR_OK);
        assert_non_null(strstr(buf_text(&jobs[i].answer), "\"result\":\"split\""));
        alone[i] = strdup(buf_text(&jobs[i].answer));
        assert_non_null(alone[i]);
    }

    for (int i = 0; i < JOBS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_job, &jobs[i]), 0);
    for (int i = 0; i < JOBS; i++)
        pthread_join(threads[i], NULL);

    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(jobs[i].kind, ERR_OK);
        assert_string_equal(buf_text(&jobs[i].answer), alone[i]);
        free(alone[i]);
        buf_done(&jobs[i].trace);
        buf_done(&jobs[i].answer);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_text_with_what_was_kept_in_front),
        cmocka_unit_test(begins_anew_in_the_middle),
        cmocka_unit_test(hands_over_what_the_source_says),
        cmocka_unit_test(splits_side_by_side_as_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
