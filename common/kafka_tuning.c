/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what depends on librdkafka's version. */
#include "kafka_tuning.h"

#include <limits.h>

#define VERSION(major, minor, patch)                                                     \
    (((major) << 24) | ((minor) << 16) | ((patch) << 8) | 0xff)

enum { ALWAYS = 0, FOR_EVER = INT_MAX };

static const struct {
    enum kafka_role role;
    int from;
    int before;
    struct kafka_property property;
} tunings[] = {
    /* The memory that waiting records may take, whatever their number. */
    {KAFKA_CONSUMES, ALWAYS, FOR_EVER, {"queued.max.messages.kbytes", "32768"}},
    /* Before 2.2 a full queue parks the fetch for a second, so the number stays at its
     * default of 100000; since then it is short, and looked at again at once. */
    {KAFKA_CONSUMES, VERSION(2, 2, 0), FOR_EVER, {"queued.min.messages", "20000"}},
    {KAFKA_CONSUMES, VERSION(2, 2, 0), FOR_EVER, {"fetch.queue.backoff.ms", "10"}},
    /* The first begin after a commit often meets CONCURRENT_TRANSACTIONS and waits so
     * long: 46 instead of 22 thousand records a second in batches of 1,000. Since 2.3 the
     * wait grows from a small one by itself. */
    {KAFKA_TRANSACTS, ALWAYS, VERSION(2, 3, 0), {"retry.backoff.ms", "5"}},
};

static const int fixed_in[] = {
    [KAFKA_DEFECT_SCRAM] = VERSION(2, 6, 1),
    [KAFKA_DEFECT_EARLY_CLOSE] = VERSION(2, 4, 0),
};

size_t
kafka_tuning(int version,
             enum kafka_role role,
             struct kafka_property ret[static KAFKA_TUNING_MAX])
{
    enum { ROWS = sizeof tunings / sizeof tunings[0] };
    _Static_assert((int)ROWS < (int)KAFKA_TUNING_MAX, "raise KAFKA_TUNING_MAX");
    size_t n = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (tunings[i].role == role && version >= tunings[i].from &&
            version < tunings[i].before)
            ret[n++] = tunings[i].property;
    ret[n] = (struct kafka_property){0};
    return n;
}

bool
kafka_has_defect(int version, enum kafka_defect defect)
{
    return version < fixed_in[defect];
}
