/* SPDX-License-Identifier: Apache-2.0 */
/* Apache Kafka around a test. */
#include "real_kafka.h"

#include "process.h"
#include "run_heddle.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 4096, TOOL_ARGS = 32, TOOL_MS = 60000 };

bool
real_kafka_here(const char *name, int *ret_status)
{
    return local_server_here("kafka-local", name, ret_status);
}

/* The value of `name` in lines NAME=value. */
static bool
take_value(const char *lines, const char *name, char *ret, size_t size)
{
    size_t len = strlen(name);
    for (const char *line = lines; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) == 0 && line[len] == '=') {
            const char *value = line + len + 1;
            snprintf(ret, size, "%.*s", (int)strcspn(value, "\n"), value);
            return true;
        }
        if (*line == '\0')
            break;
    }
    return false;
}

bool
real_kafka_start(struct real_kafka *kafka, bool secure)
{
    char text[TEXT_BYTES];
    *kafka = (struct real_kafka){.server.guard = -1};
    if (!local_server_open(&kafka->server, "kafka-local"))
        return false;
    bool up = local_server_call(&kafka->server, "start", secure ? "--secure" : NULL,
                                LOCAL_SERVER_START_MS, NULL, 0) &&
              local_server_call(&kafka->server, "env", NULL, LOCAL_SERVER_CALL_MS, text,
                                sizeof text) &&
              take_value(text, "BROKERS", kafka->bootstrap, sizeof kafka->bootstrap);
    if (up && secure)
        up = take_value(text, "SECURE_BROKERS", kafka->secure, sizeof kafka->secure) &&
             take_value(text, "CA_FILE", kafka->ca_file, sizeof kafka->ca_file);
    if (up)
        return true;
    fprintf(stderr, "Kafka did not come up\n");
    real_kafka_stop(kafka);
    return false;
}

bool
real_kafka_start_with_topics(struct real_kafka *kafka, bool secure)
{
    struct process process;
    if (!real_kafka_start(kafka, secure))
        return false;
    int status =
        heddle_run(&process, NULL,
                   WORDS("topics", "apply", "--execute", "--brokers", kafka->bootstrap));
    if (status != 0)
        fprintf(stderr, "no topics: %s", process.text);
    process_close(&process);
    if (status != 0)
        real_kafka_stop(kafka);
    return status == 0;
}

bool
real_kafka_kill(struct real_kafka *kafka)
{
    return local_server_call(&kafka->server, "kill", NULL, LOCAL_SERVER_CALL_MS, NULL, 0);
}

bool
real_kafka_end(struct real_kafka *kafka)
{
    return local_server_call(&kafka->server, "stop", NULL, LOCAL_SERVER_CALL_MS, NULL, 0);
}

static bool
signal_server(const struct real_kafka *kafka, int signal_number)
{
    int pid = 0;
    char *path = temp_path(&kafka->server.dir, "pid");
    FILE *file = path ? fopen(path, "r") : NULL;
    bool known = file && fscanf(file, "%d", &pid) == 1 && pid > 1;
    if (file)
        fclose(file);
    free(path);
    return known && kill(pid, signal_number) == 0;
}

bool
real_kafka_hold(const struct real_kafka *kafka)
{
    return signal_server(kafka, SIGSTOP);
}

bool
real_kafka_release(const struct real_kafka *kafka)
{
    return signal_server(kafka, SIGCONT);
}

bool
real_kafka_restart(struct real_kafka *kafka)
{
    return local_server_call(&kafka->server, "start", NULL, LOCAL_SERVER_START_MS, NULL,
                             0);
}

bool
real_kafka_tool(const struct real_kafka *kafka,
                const char *class_name,
                const char *const *arguments)
{
    const char *argv[TOOL_ARGS + 1] = {SOURCE_DIR "/ops/kafka-local", "tool", class_name,
                                       "--bootstrap-server", kafka->bootstrap};
    for (size_t i = 0, n = 5; arguments[i] && n < TOOL_ARGS; i++)
        argv[n++] = arguments[i];
    struct process process;
    if (!process_start(&process, argv, NULL))
        return false;
    int status = process_wait(&process, TOOL_MS);
    if (status != 0)
        fprintf(stderr, "%s: %s", class_name, process.text);
    if (status < 0)
        process_end(process.pid, SIGKILL, TOOL_MS);
    process_close(&process);
    return status == 0;
}

void
real_kafka_stop(struct real_kafka *kafka)
{
    local_server_close(&kafka->server);
}
