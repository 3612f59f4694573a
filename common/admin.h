/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The admin port of a worker: /metrics (Prometheus text), /healthz and /readyz (200 or
 * 503), each from a thread of its own. Wrapper of libmicrohttpd.
 */
#pragma once

#include "buf.h"
#include "err.h"

#include <stdbool.h>

/* Called from the port's thread. */
struct admin_pages {
    void (*metrics)(void *state, struct buf *out);
    bool (*ready)(void *state, struct buf *ret_json);
    bool (*alive)(void *state);
    void *state;
};

struct admin;

/*
 * Listens on `address`, "HOST:PORT" with a numeric host ("127.0.0.1:9100", "[::1]:0");
 * port 0 takes a free one. ERR_FATAL EXIT_CONFIG "admin_address" or "admin_unusable".
 */
struct admin *
admin_start(const char *address, const struct admin_pages *pages, struct err *err);
void admin_stop(struct admin *admin);
/* The port that was taken. */
int admin_port(const struct admin *admin);
