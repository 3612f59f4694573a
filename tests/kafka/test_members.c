/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of many members on a real Kafka: joining every second, and static ones that are
 * restarted one after the other, as is the broker.
 *
 *   TEST_MEMBERS   of the group that grows, 8 by default; 25 in the long run
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rig.h"
#include "test_size.h"

#include "unit.h"

enum {
    MEMBERS = 8,
    MAX_MEMBERS = 64,
    MAX_THREADS = 64,
    JOIN_EVERY_MS = 1000,
    LOOK_MS = 200,
    STEADY_MS = 10000, /* how long nothing must move, and no thread be busy */
    BUSY_SHARE = 90,   /* per cent of a processor */
    STATIC_MEMBERS = 6,
};

struct member {
    struct process process;
    char name[8];
    int port;
};

static void
start_member(const struct rig *rig, struct member *member, int i, const char *const *more)
{
    snprintf(member->name, sizeof member->name, "m%d", i);
    rig_start(rig, &member->process, member->name, more);
    member->port = rig_port_of(&member->process);
}

static long long
sum_of(const struct member *members, int n, const char *metric, int but)
{
    long long sum = 0;
    for (int i = 0; i < n; i++)
        if (i != but)
            sum += rig_number(members[i].port, metric);
    return sum;
}

/* --- a group that grows ------------------------------------------------------------- */

struct thread_time {
    long id;
    long long ticks;
};

static long long
ticks_of(pid_t pid, const char *thread)
{
    char path[96];
    char text[512] = "";
    long long user = 0;
    long long system = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/stat", (int)pid, thread);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0; /* it has ended */
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    const char *at = strrchr(text, ')'); /* after the name, whatever it is */
    if (!at || sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld",
                      &user, &system) != 2)
        return 0;
    return user + system;
}

static size_t
threads_of(pid_t pid, struct thread_time times[static MAX_THREADS])
{
    char path[64];
    size_t n = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) && n < MAX_THREADS;)
        if (entry->d_name[0] != '.')
            times[n++] = (struct thread_time){strtol(entry->d_name, NULL, 10),
                                              ticks_of(pid, entry->d_name)};
    closedir(dir);
    return n;
}

struct group_times {
    struct thread_time times[MAX_MEMBERS][MAX_THREADS];
    size_t n[MAX_MEMBERS];
};

static void
take_times(const struct member *members, int n, struct group_times *ret)
{
    for (int i = 0; i < n; i++)
        ret->n[i] = threads_of(members[i].process.pid, ret->times[i]);
}

/* The most that one thread has worked between the two, in milliseconds. */
static long long
busiest_ms(const struct group_times *before, const struct group_times *after, int n)
{
    long long most = 0;
    for (int i = 0; i < n; i++)
        for (size_t a = 0; a < after->n[i]; a++)
            for (size_t b = 0; b < before->n[i]; b++) {
                long long ticks = after->times[i][a].ticks - before->times[i][b].ticks;
                if (after->times[i][a].id == before->times[i][b].id && ticks > most)
                    most = ticks;
            }
    return most * 1000 / sysconf(_SC_CLK_TCK);
}

/* Waits until every partition has its member and nothing has moved for STEADY_MS. */
static void
wait_until_steady(const struct member *members, int n, int partitions)
{
    static struct group_times before;
    static struct group_times after;
    long long deadline = process_now_ms() + RIG_TIMEOUT_MS;
    long long moves = -1;
    long long since_ms = process_now_ms();
    for (;;) {
        long long now_ms = process_now_ms();
        long long moved = sum_of(members, n, "heddle_rebalances_total", -1);
        long long assigned = sum_of(members, n, "heddle_assigned_partitions", -1);
        if (moved != moves || assigned != partitions) {
            moves = moved;
            since_ms = now_ms;
            take_times(members, n, &before);
        }
        if (now_ms - since_ms >= STEADY_MS)
            break;
        if (now_ms > deadline)
            fail_msg("not steady: %lld partitions of %d assigned, %lld rebalances",
                     assigned, partitions, moved);
        usleep(LOOK_MS * 1000); /* between two looks, not for luck */
    }
    take_times(members, n, &after);
    long long busy_ms = busiest_ms(&before, &after, n);
    printf("steady with %d members; the busiest thread worked %lld ms in %lld\n", n,
           busy_ms, process_now_ms() - since_ms);
    assert_true(busy_ms * 100 < BUSY_SHARE * (process_now_ms() - since_ms));
}

/* What made the assignor of librdkafka 2.0.2 loop: members of two topics in one group. */
static void
is_steady_again_after_members_of_two_topics_joined_every_second(void **state)
{
    (void)state;
    static struct member members[MAX_MEMBERS];
    int n = test_size("TEST_MEMBERS", MEMBERS);
    struct rig rigs[2];
    assert_in_range(n, 2, MAX_MEMBERS);
    rig_open(&rigs[0], rig_kafka(), "grow", n);
    rig_open(&rigs[1], rig_kafka(), "grow.too", n);
    snprintf(rigs[1].group, sizeof rigs[1].group, "%s", rigs[0].group);

    for (int i = 0; i < n; i++) {
        start_member(&rigs[i % 2], &members[i], i, NULL);
        process_wait(&members[i].process, JOIN_EVERY_MS);
    }

    wait_until_steady(members, n, 2 * n);
    for (int topic = 0; topic < 2; topic++)
        rig_send(&rigs[topic], 0, 1000);
    for (int topic = 0; topic < 2; topic++) {
        struct rig_seen seen = rig_seen_new();
        rig_wait_distinct(&rigs[topic], &seen, 1000);
        assert_int_equal(seen.doubled, 0);
        rig_seen_done(&seen);
    }
    for (int i = 0; i < n; i++)
        rig_stop(&members[i].process, 0);
    rig_done(&rigs[0]);
    rig_done(&rigs[1]);
}

/* --- static members ----------------------------------------------------------------- */

static const char *const static_member[] = {"--static", "-X", "session.timeout.ms=60000",
                                            NULL};

static void
start_static(const struct rig *rig, struct member *member, int i)
{
    start_member(rig, member, i, static_member);
    rig_wait(&member->process, "partition assigned");
}

static void
moves_no_partition_when_static_members_and_the_broker_restart_in_turn(void **state)
{
    (void)state;
    static struct member members[STATIC_MEMBERS];
    struct rig rig;
    rig_open(&rig, rig_kafka(), "rolling", STATIC_MEMBERS);
    for (int i = 0; i < STATIC_MEMBERS; i++)
        start_member(&rig, &members[i], i, static_member);
    for (int i = 0; i < STATIC_MEMBERS; i++)
        rig_wait_page(members[i].port, "/metrics", "\nheddle_assigned_partitions 1\n");

    for (int i = 0; i < STATIC_MEMBERS; i++) {
        long long others = sum_of(members, STATIC_MEMBERS, "heddle_rebalances_total", i);
        rig_stop(&members[i].process, 0);
        start_static(&rig, &members[i], i);
        rig_send(&rig, i * 100, 100);
        rig_wait_drained(&rig);
        assert_int_equal(sum_of(members, STATIC_MEMBERS, "heddle_rebalances_total", i),
                         others);
    }
    long long all = sum_of(members, STATIC_MEMBERS, "heddle_rebalances_total", -1);
    assert_true(real_kafka_end(rig_kafka()));
    assert_true(real_kafka_restart(rig_kafka()));
    rig_send(&rig, STATIC_MEMBERS * 100, 100);
    rig_wait_drained(&rig);

    assert_int_equal(sum_of(members, STATIC_MEMBERS, "heddle_rebalances_total", -1), all);
    for (int i = 0; i < STATIC_MEMBERS; i++)
        rig_stop(&members[i].process, 0); /* so none was fenced */
    struct rig_seen seen = rig_seen_new();
    rig_wait_distinct(&rig, &seen, STATIC_MEMBERS * 100 + 100);
    assert_int_equal(seen.doubled, 0);
    rig_seen_done(&seen);
    rig_done(&rig);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_steady_again_after_members_of_two_topics_joined_every_second),
        cmocka_unit_test(
            moves_no_partition_when_static_members_and_the_broker_restart_in_turn),
    };
    int status = 0;
    if (!real_kafka_here("kafka.members", &status))
        return status;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, rig_open_kafka, rig_close_kafka);
}
