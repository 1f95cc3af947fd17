/*
 * The log of daemons, one line to stderr per call: "loom-box: error: TEXT". It is for the operator
 * and is not the ledger. Text is escaped (text_escape); a line is at most 2 KiB. Libraries never log.
 */
#ifndef LOOM_BASE_LOG_H
#define LOOM_BASE_LOG_H

#include "base/macro.h"

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARNING, LOG_LEVEL_ERROR };

void log_init(const char *process);            /* e.g. "loom-box"; level from LOOM_LOG, default warning */
void log_line(enum log_level level, const char *fmt, ...) PRINTF(2, 3);
void fatal(const char *fmt, ...) PRINTF(1, 2) NORETURN; /* log, then exit status 125 */

#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)

#endif
