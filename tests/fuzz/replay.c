/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over every file of its corpus, without libFuzzer, so that what once
 * crashed is tried again in every build.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUT_BYTES = 16 << 20, MAX_PATH = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Copied to a block of its exact size: a read past the end is seen. */
static int
run_bytes(const uint8_t *data, size_t len)
{
    uint8_t *input = malloc(len ? len : 1);
    if (!input)
        return -1;
    memcpy(input, data, len);
    LLVMFuzzerTestOneInput(input, len);
    free(input);
    return 0;
}

static int
run_file(const char *path, uint8_t *room)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return -1;
    size_t len = fread(room, 1, MAX_INPUT_BYTES, file);
    int failed = ferror(file) || !feof(file);
    fclose(file);
    return failed ? -1 : run_bytes(room, len);
}

static int
run_folder(const char *folder, int *ret_passed, int *ret_failed)
{
    DIR *dir = opendir(folder);
    uint8_t *room = malloc(MAX_INPUT_BYTES);
    if (!dir || !room) {
        fprintf(stderr, "%s: %s\n", folder, strerror(errno));
        free(room);
        if (dir)
            closedir(dir);
        return -1;
    }
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        char path[MAX_PATH];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (run_file(path, room) == 0) {
            ++*ret_passed;
            continue;
        }
        fprintf(stderr, "%s can't be read, or is above %d bytes\n", path,
                MAX_INPUT_BYTES);
        ++*ret_failed;
    }
    free(room);
    closedir(dir);
    return 0;
}

int
main(int argc, char **argv)
{
    int passed = 0;
    int failed = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
        return 64;
    }
    if (run_folder(argv[1], &passed, &failed) || passed + failed == 0) {
        fprintf(stderr, "%s: no input to replay\n", argv[1]);
        failed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
