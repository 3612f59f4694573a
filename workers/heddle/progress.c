/* SPDX-License-Identifier: Apache-2.0 */
/* A progress bar for people. */
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"

enum { WIDTH_DEFAULT = 80, BAR_MAX = 40, TEXT_BYTES = 64 };

bool
progress_wanted(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

static int
terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return WIDTH_DEFAULT;
}

void
progress_start(struct progress *progress, const char *what, size_t total)
{
    const char *no_colour = getenv("NO_COLOR");
    *progress = (struct progress){.what = what,
                                  .total = total,
                                  .shown = progress_wanted(),
                                  .colour = !no_colour || !*no_colour};
}

static void
draw(struct progress *progress, size_t done)
{
    char text[TEXT_BYTES];
    size_t total = progress->total > done ? progress->total : done;
    if (progress->total == 0) {
        fprintf(stderr, "\r\033[K%zu %s", done, progress->what);
        return;
    }
    int text_len = snprintf(text, sizeof text, " %zu/%zu %s %3zu%%", done, total,
                            progress->what, total ? done * 100 / total : 100);
    int room = terminal_width() - text_len - 3;
    int width = room > BAR_MAX ? BAR_MAX : room < 0 ? 0 : room;
    int filled = total ? (int)((double)done / (double)total * width) : width;
    fputs("\r\033[K[", stderr);
    fputs(progress->colour ? "\033[32m" : "", stderr);
    for (int i = 0; i < width; i++)
        fputc(i < filled ? '#' : '.', stderr);
    fprintf(stderr, "%s]%s", progress->colour ? "\033[0m" : "", text);
}

void
progress_show(struct progress *progress, size_t done)
{
    int64_t now = clock_monotonic_ms();
    if (!progress->shown || now < progress->next_ms)
        return;
    progress->next_ms = now + PROGRESS_EVERY_MS;
    draw(progress, done);
    fflush(stderr);
    progress->drawn = true;
}

void
progress_clear(struct progress *progress)
{
    if (!progress->drawn)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->drawn = false;
    progress->next_ms = 0;
}
