/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of its own for one test, with what the test writes into it. */
#pragma once

#include <stdbool.h>

struct temp_dir {
    char *path; /* real path */
};

bool temp_dir_make(struct temp_dir *dir);
/* Removes the folder and everything in it; links are removed, not followed. */
void temp_dir_done(struct temp_dir *dir);
/* `dir`/`name`; malloc()ed. */
char *temp_path(const struct temp_dir *dir, const char *name);
/* Writes `text` to `name` (folders are made) with a modification time `age_s` ago. */
bool
temp_write(const struct temp_dir *dir, const char *name, const char *text, int age_s);
/* Sets the modification time of a file to `age_s` ago. */
bool temp_touch(const struct temp_dir *dir, const char *name, int age_s);
