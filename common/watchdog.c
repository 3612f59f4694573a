/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that takes signals and holds deadlines. */
#include "watchdog.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"

enum { LOOK_EVERY_MS = 50, NEVER = 0 };

/* What is to end in time. */
struct deadline {
    int64_t until_ms; /* NEVER: not armed */
    int64_t allowed_ms;
    int status;
    const char *what;
};

static struct {
    sigset_t signals;
    int64_t drain_ms;
    pthread_mutex_t lock; /* of the fields below */
    pthread_cond_t changed;
    int64_t drain_until_ms; /* NEVER: not draining */
    struct deadline armed[N_WATCHES];
    int (*look)(void *state); /* called with the lock held */
    void *look_state;
    bool (*excuse)(void *state); /* called with the lock held */
    void *excuse_state;
} dog = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static atomic_bool stopping;

bool
watchdog_stopping(void)
{
    return atomic_load(&stopping);
}

void
watchdog_stop(void)
{
    pthread_mutex_lock(&dog.lock);
    if (!atomic_exchange(&stopping, true))
        dog.drain_until_ms = clock_monotonic_ms() + dog.drain_ms;
    pthread_cond_broadcast(&dog.changed);
    pthread_mutex_unlock(&dog.lock);
}

static void
take_signal(int signal_number)
{
    const char *name = signal_number == SIGTERM ? "SIGTERM" : "SIGINT";
    if (watchdog_stopping()) {
        log_event(LOG_ERROR,
                  "asked to stop again: leaving at once, the batch is not committed",
                  LOG_FIELDS(LOG_STR("signal", name)));
        _exit(EXIT_DRAIN_DEADLINE);
    }
    log_event(LOG_INFO, "asked to stop: finishing the batch",
              LOG_FIELDS(LOG_STR("signal", name),
                         LOG_INTEGER("drain_timeout_ms", dog.drain_ms)));
    watchdog_stop();
}

static void
leave(int status, const char *what)
{
    log_event(LOG_ERROR, "a deadline is over: leaving without more ado",
              LOG_FIELDS(LOG_STR("what", what), LOG_INTEGER("status", status)));
    _exit(status);
}

/* Whether the deadline is over, and nothing excuses that. */
static bool
is_over(enum watch watch, int64_t now_ms)
{
    struct deadline *armed = &dog.armed[watch];
    if (armed->until_ms == NEVER || now_ms < armed->until_ms)
        return false;
    if (watch != WATCH_CALL || !dog.excuse || !dog.excuse(dog.excuse_state))
        return true;
    armed->until_ms = clock_monotonic_ms() + armed->allowed_ms;
    return false;
}

/* The first deadline that is over; the drain's comes first: nothing excuses it. */
static struct deadline
overrun(int64_t now_ms)
{
    struct deadline over = {.what = NULL};
    pthread_mutex_lock(&dog.lock);
    if (dog.drain_until_ms != NEVER && now_ms >= dog.drain_until_ms)
        over = (struct deadline){.status = EXIT_DRAIN_DEADLINE, .what = "the drain"};
    for (int i = 0; i < N_WATCHES && !over.what; i++)
        if (is_over((enum watch)i, now_ms))
            over = dog.armed[i];
    pthread_mutex_unlock(&dog.lock);
    return over;
}

static void
check_deadlines(void)
{
    struct deadline over = overrun(clock_monotonic_ms());
    if (over.what)
        leave(over.status, over.what);
}

static void
look_around(void)
{
    pthread_mutex_lock(&dog.lock);
    int status = dog.look ? dog.look(dog.look_state) : EXIT_OK;
    pthread_mutex_unlock(&dog.lock);
    if (status)
        leave(status, "a record in work");
}

static void *
watch(void *state)
{
    (void)state;
    const struct timespec step = {.tv_nsec = LOOK_EVERY_MS * 1000000L};
    for (;;) {
        int signal_number = sigtimedwait(&dog.signals, NULL, &step);
        if (signal_number > 0)
            take_signal(signal_number);
        check_deadlines();
        look_around();
    }
    return NULL;
}

void
watchdog_hold_signals(void)
{
    sigemptyset(&dog.signals);
    sigaddset(&dog.signals, SIGTERM);
    sigaddset(&dog.signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &dog.signals, NULL);
}

void
watchdog_let_signals_go(void)
{
    pthread_sigmask(SIG_UNBLOCK, &dog.signals, NULL);
}

enum err_kind
watchdog_start(int64_t drain_ms, struct err *err)
{
    dog.drain_ms = drain_ms;
    signal(SIGPIPE, SIG_IGN);
    watchdog_hold_signals();
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch, NULL))
        return err_no_memory(err, "the watchdog's thread");
    pthread_detach(thread);
    return ERR_OK;
}

void
watchdog_arm(enum watch watch, int64_t timeout_ms, int status, const char *what)
{
    pthread_mutex_lock(&dog.lock);
    dog.armed[watch] =
        (struct deadline){clock_monotonic_ms() + timeout_ms, timeout_ms, status, what};
    pthread_mutex_unlock(&dog.lock);
}

void
watchdog_disarm(enum watch watch)
{
    pthread_mutex_lock(&dog.lock);
    dog.armed[watch].until_ms = NEVER;
    pthread_mutex_unlock(&dog.lock);
}

void
watchdog_excuse(bool (*excuse)(void *state), void *state)
{
    pthread_mutex_lock(&dog.lock);
    dog.excuse = excuse;
    dog.excuse_state = state;
    pthread_mutex_unlock(&dog.lock);
}

void
watchdog_look(int (*look)(void *state), void *state)
{
    pthread_mutex_lock(&dog.lock);
    dog.look = look;
    dog.look_state = state;
    pthread_mutex_unlock(&dog.lock);
}

void
watchdog_wait(int64_t timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(timeout_ms / 1000);
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&dog.lock);
    while (!watchdog_stopping() &&
           pthread_cond_timedwait(&dog.changed, &dog.lock, &until) != ETIMEDOUT) {
    }
    pthread_mutex_unlock(&dog.lock);
}
