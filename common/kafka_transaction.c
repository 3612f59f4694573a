/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions: the library's calls, and what their errors ask for. */
#include "kafka.h"

#include <stdio.h>

#include "kafka_client.h"

#include "clock.h"

enum {
    TEXT_BYTES = 512,
    WAIT_MS = 100, /* before a retriable call is made again */
    FENCE_LOOK_MS = 3000,
};

/*
 * By the flags in the order that the library asks for: abort, retriable, fatal; none of
 * them is fatal too. `*ret_again`: make the same call again.
 */
static enum err_kind
take_error(struct producer *producer,
           rd_kafka_error_t *error,
           const char *what,
           bool *ret_again,
           struct err *err)
{
    *ret_again = false;
    if (!error)
        return ERR_OK;
    struct kafka_client *client = producer_client(producer);
    rd_kafka_resp_err_t answer = rd_kafka_error_code(error);
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%s", rd_kafka_error_string(error));
    bool abort = rd_kafka_error_txn_requires_abort(error) != 0;
    bool retriable = rd_kafka_error_is_retriable(error) != 0;
    rd_kafka_error_destroy(error);
    if (abort)
        return kafka_error(err, answer, "transaction_aborted", what, text);
    if (retriable) {
        *ret_again = true;
        return err_set(err, ERR_RETRY, "transaction_pending", "%s: %s", what, text);
    }
    if (kafka_fatal_error(client, err))
        return err->kind;
    if (kafka_error(err, answer, "transaction_failed", what, text) == ERR_FATAL)
        return ERR_FATAL;
    return err_fatal(err, EXIT_TRY_AGAIN, "transaction_failed",
                     "%s: %s; start the process again", what, text);
}

enum err_kind
transactions_init(struct producer *producer, int timeout_ms, struct err *err)
{
    bool again = false;
    rd_kafka_error_t *error =
        rd_kafka_init_transactions(producer_client(producer)->rk, timeout_ms);
    return take_error(producer, error, "transactions can't begin", &again, err);
}

/* Makes a call until it answers something that calling again would not change. */
static enum err_kind
insist(struct producer *producer,
       rd_kafka_error_t *(*call)(struct producer *producer, void *state),
       void *state,
       const char *what,
       const struct patience *patience,
       struct err *err)
{
    for (;;) {
        bool again = false;
        enum err_kind kind =
            take_error(producer, call(producer, state), what, &again, err);
        if (!again)
            return kind;
        if (!patience->wait(patience->state))
            return kind;
        producer_poll(producer, WAIT_MS);
    }
}

static rd_kafka_error_t *
call_begin(struct producer *producer, void *state)
{
    (void)state;
    return rd_kafka_begin_transaction(producer_client(producer)->rk);
}

enum err_kind
transaction_begin(struct producer *producer,
                  const struct patience *patience,
                  struct err *err)
{
    return insist(producer, call_begin, NULL, "a transaction can't begin", patience, err);
}

struct offsets_call {
    rd_kafka_t *consumer;
    const rd_kafka_topic_partition_list_t *offsets;
    int timeout_ms;
};

/* The group's generation is asked anew each time: it is what keeps a zombie out. */
static rd_kafka_error_t *
call_send_offsets(struct producer *producer, void *state)
{
    const struct offsets_call *call = state;
    rd_kafka_consumer_group_metadata_t *group =
        rd_kafka_consumer_group_metadata(call->consumer);
    if (!group)
        return rd_kafka_error_new(RD_KAFKA_RESP_ERR__STATE, "the group is gone");
    rd_kafka_error_t *error = rd_kafka_send_offsets_to_transaction(
        producer_client(producer)->rk, call->offsets, group, call->timeout_ms);
    rd_kafka_consumer_group_metadata_destroy(group);
    return error;
}

enum err_kind
transaction_send_offsets(struct producer *producer,
                         struct consumer *consumer,
                         const struct topic_partition *parts,
                         size_t n,
                         int timeout_ms,
                         const struct patience *patience,
                         struct err *err)
{
    if (n == 0)
        return ERR_OK; /* the library would be silent as well */
    rd_kafka_topic_partition_list_t *list = kafka_partition_list(parts, n);
    struct offsets_call call = {consumer_client(consumer)->rk, list, timeout_ms};
    enum err_kind kind = insist(producer, call_send_offsets, &call,
                                "the offsets of a transaction", patience, err);
    rd_kafka_topic_partition_list_destroy(list);
    return kind;
}

/* -1: any other time-out lets the library and the coordinator drift apart. */
static rd_kafka_error_t *
call_commit(struct producer *producer, void *state)
{
    (void)state;
    return rd_kafka_commit_transaction(producer_client(producer)->rk, -1);
}

enum err_kind
transaction_commit(struct producer *producer,
                   const struct patience *patience,
                   struct err *err)
{
    return insist(producer, call_commit, NULL, "the commit of a transaction", patience,
                  err);
}

static rd_kafka_error_t *
call_abort(struct producer *producer, void *state)
{
    (void)state;
    return rd_kafka_abort_transaction(producer_client(producer)->rk, -1);
}

enum err_kind
transaction_abort(struct producer *producer,
                  const struct patience *patience,
                  struct err *err)
{
    enum err_kind kind =
        insist(producer, call_abort, NULL, "the abort of a transaction", patience, err);
    producer_take_failure(producer, NULL); /* what was purged is no failure */
    return kind;
}

/* --- who took our name
 * ------------------------------------------------------------------- */

static bool
is_other(const struct rd_kafka_group_member_info *member,
         const char *client_id,
         const char *own_id)
{
    return member->client_id && strcmp(member->client_id, client_id) == 0 &&
           !(own_id && member->member_id && strcmp(member->member_id, own_id) == 0);
}

bool
consumer_find_namesake(struct consumer *consumer,
                       const char *group,
                       const char *client_id,
                       char *ret_text,
                       size_t size)
{
    rd_kafka_t *rk = consumer_client(consumer)->rk;
    const struct rd_kafka_group_list *list = NULL;
    if (rd_kafka_list_groups(rk, group, &list, FENCE_LOOK_MS))
        return false;
    char *own_id = rd_kafka_memberid(rk);
    bool found = false;
    for (int g = 0; g < list->group_cnt && !found; g++) {
        for (int m = 0; m < list->groups[g].member_cnt && !found; m++) {
            const struct rd_kafka_group_member_info *member = &list->groups[g].members[m];
            found = is_other(member, client_id, own_id);
            if (found)
                snprintf(ret_text, size, "member %s on host %s", member->member_id,
                         member->client_host ? member->client_host : "?");
        }
    }
    if (own_id)
        rd_kafka_mem_free(rk, own_id);
    rd_kafka_group_list_destroy(list);
    return found;
}
