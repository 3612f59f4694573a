/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A feed whose text is decoded ahead, by a thread of its own, at most FEED_THREAD_PIECES
 * pieces. The thread alone reads the source between a rewind and the end. Plain text is
 * read when it is asked for, without a thread: handing it over costs more than reading.
 */
#pragma once

#include "feed.h"

enum { FEED_THREAD_PIECES = 4 };

struct feed_thread;

/* `unpack` is borrowed. NULL: out of memory. */
struct feed_thread *feed_thread_new(struct unpack *unpack);
/* Stops the thread after the piece it works on, and waits for it. */
void feed_thread_free(struct feed_thread *thread);
struct feed feed_thread_feed(struct feed_thread *thread);
