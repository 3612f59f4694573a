/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and ending the embedded broker around a test. */
#include "broker.h"

#include "process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { START_TIMEOUT_MS = 30000, STOP_TIMEOUT_MS = 20000, MAX_ARGS = 64 };

static bool
start(struct broker *broker, const char *const *argv)
{
    struct process process;
    *broker = (struct broker){0};
    if (!process_start(&process, argv, NULL))
        return false;
    broker->pid = process.pid;
    char line[128] = "";
    bool ready =
        process_wait_line(&process, "bootstrap ", line, sizeof line, START_TIMEOUT_MS) &&
        sscanf(line, "bootstrap %63s", broker->bootstrap) == 1 &&
        process_wait_line(&process, "ready", line, sizeof line, START_TIMEOUT_MS);
    process_close(&process);
    const char *colon = strrchr(broker->bootstrap, ':');
    broker->port = colon ? (int)strtol(colon + 1, NULL, 10) : 0;
    if (!ready || broker->port <= 0) {
        fprintf(stderr, "the embedded broker did not come up\n");
        broker_stop(broker);
        return false;
    }
    return true;
}

bool
broker_start(struct broker *broker, int port, const char *const *extra_topics)
{
    char port_text[16];
    snprintf(port_text, sizeof port_text, "%d", port);
    const char *argv[MAX_ARGS + 1] = {BIN_DIR "/heddle-devbroker", "--exit-with-parent",
                                      "--port", port_text};
    int n = 4;
    for (int i = 0; extra_topics && extra_topics[i] && n + 2 < MAX_ARGS; i++) {
        argv[n++] = "--topic";
        argv[n++] = extra_topics[i];
    }
    return start(broker, argv);
}

bool
broker_start_sized(struct broker *broker, int port, int partitions)
{
    char port_text[16];
    char partitions_text[16];
    snprintf(port_text, sizeof port_text, "%d", port);
    snprintf(partitions_text, sizeof partitions_text, "%d", partitions);
    const char *const argv[] = {BIN_DIR "/heddle-devbroker",
                                "--exit-with-parent",
                                "--port",
                                port_text,
                                "--partitions",
                                partitions_text,
                                NULL};
    return start(broker, argv);
}

void
broker_stop(struct broker *broker)
{
    if (broker->pid <= 0)
        return;
    process_end(broker->pid, SIGTERM, STOP_TIMEOUT_MS);
    broker->pid = 0;
}
