/* SPDX-License-Identifier: Apache-2.0 */
/* A feed whose text is decoded ahead where there is something to decode. */
#include "feed_thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct piece {
    size_t len; /* 0: the end, or an error */
    char room[FEED_KEEP + FEED_PIECE + FEED_PADDING];
};

struct feed_thread {
    struct unpack *unpack;
    pthread_t thread;
    bool is_running; /* it was started and not joined */
    bool is_direct;  /* there is none: pieces are read when they are asked for */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock */
    uint64_t made;  /* pieces that were filled */
    uint64_t freed; /* pieces that may be filled again */
    bool is_stopping;
    enum err_kind kind; /* of the last piece */
    struct err err;
    /* the scanner's own */
    uint64_t taken;
    struct piece pieces[FEED_THREAD_PIECES];
};

struct feed_thread *
feed_thread_new(struct unpack *unpack)
{
    struct feed_thread *thread = malloc(sizeof *thread);
    if (!thread)
        return NULL;
    thread->unpack = unpack;
    thread->is_running = false;
    thread->is_direct = false;
    thread->taken = 0;
    pthread_mutex_init(&thread->lock, NULL);
    pthread_cond_init(&thread->changed, NULL);
    return thread;
}

/* Without a thread two pieces are enough, and stay in the cache. */
static struct piece *
piece_at(struct feed_thread *thread, uint64_t i)
{
    return &thread->pieces[i % (thread->is_direct ? 2 : FEED_THREAD_PIECES)];
}

/* False: the thread is to end. */
static bool
wait_for_room(struct feed_thread *thread)
{
    pthread_mutex_lock(&thread->lock);
    while (thread->made - thread->freed == FEED_THREAD_PIECES && !thread->is_stopping)
        pthread_cond_wait(&thread->changed, &thread->lock);
    bool goes_on = !thread->is_stopping;
    pthread_mutex_unlock(&thread->lock);
    return goes_on;
}

static void
hand_over(struct feed_thread *thread, enum err_kind kind, const struct err *err)
{
    pthread_mutex_lock(&thread->lock);
    thread->made++;
    thread->kind = kind;
    if (kind)
        thread->err = *err;
    pthread_cond_broadcast(&thread->changed);
    pthread_mutex_unlock(&thread->lock);
}

/* Fills piece `i`; false: it is the last. */
static bool
make_piece(struct feed_thread *thread, uint64_t i)
{
    struct piece *piece = piece_at(thread, i);
    struct err err = {0};
    enum err_kind kind = unpack_read(thread->unpack, piece->room + FEED_KEEP, FEED_PIECE,
                                     &piece->len, &err);
    if (kind)
        piece->len = 0;
    bool is_last = piece->len == 0;
    hand_over(thread, kind, &err);
    return !is_last;
}

static void *
decode(void *state)
{
    struct feed_thread *thread = state;
    for (uint64_t i = 1; wait_for_room(thread) && make_piece(thread, i); i++)
        continue;
    return NULL;
}

static void
stop(struct feed_thread *thread)
{
    if (!thread->is_running)
        return;
    pthread_mutex_lock(&thread->lock);
    thread->is_stopping = true;
    pthread_cond_broadcast(&thread->changed);
    pthread_mutex_unlock(&thread->lock);
    pthread_join(thread->thread, NULL);
    thread->is_running = false;
}

void
feed_thread_free(struct feed_thread *thread)
{
    if (!thread)
        return;
    stop(thread);
    pthread_cond_destroy(&thread->changed);
    pthread_mutex_destroy(&thread->lock);
    free(thread);
}

static enum err_kind
rewind_feed(void *state, struct err *err)
{
    struct feed_thread *thread = state;
    stop(thread);
    thread->made = thread->freed = thread->taken = 0;
    thread->is_stopping = false;
    thread->kind = ERR_OK;
    thread->is_direct = false;
    enum err_kind kind = unpack_rewind(thread->unpack, err);
    if (kind)
        return kind;
    /* The first piece tells the container; plain text needs no decoding. */
    bool has_more = make_piece(thread, 0);
    thread->is_direct = !has_more || unpack_end(thread->unpack)->kind == UNPACK_PLAIN;
    if (thread->is_direct)
        return ERR_OK;
    if (pthread_create(&thread->thread, NULL, decode, thread) != 0)
        return err_set(err, ERR_RETRY, "no_thread", "no thread to decode a trace in");
    thread->is_running = true;
    return ERR_OK;
}

/* The next piece is there. */
static void
wait_for_piece(struct feed_thread *thread)
{
    pthread_mutex_lock(&thread->lock);
    while (thread->made == thread->taken)
        pthread_cond_wait(&thread->changed, &thread->lock);
    pthread_mutex_unlock(&thread->lock);
}

static void
give_back(struct feed_thread *thread)
{
    pthread_mutex_lock(&thread->lock);
    thread->freed = thread->taken - 1;
    pthread_cond_broadcast(&thread->changed);
    pthread_mutex_unlock(&thread->lock);
}

static enum err_kind
next(void *state, size_t keep, char **ret_text, size_t *ret_len, struct err *err)
{
    struct feed_thread *thread = state;
    if (!thread->is_direct)
        wait_for_piece(thread);
    else if (thread->made == thread->taken)
        make_piece(thread, thread->taken);
    struct piece *piece = piece_at(thread, thread->taken);
    char *text = piece->room + FEED_KEEP;
    if (keep) {
        const struct piece *before = piece_at(thread, thread->taken - 1);
        memcpy(text - keep, before->room + FEED_KEEP + before->len - keep, keep);
    }
    *ret_text = text - keep;
    *ret_len = keep + piece->len;
    if (piece->len == 0) {
        if (thread->kind && err)
            *err = thread->err;
        return thread->kind;
    }
    thread->taken++;
    give_back(thread);
    return ERR_OK;
}

static const struct unpack_end *
end(void *state)
{
    const struct feed_thread *thread = state;
    return unpack_end(thread->unpack);
}

struct feed
feed_thread_feed(struct feed_thread *thread)
{
    return (struct feed){thread, next, rewind_feed, end};
}
