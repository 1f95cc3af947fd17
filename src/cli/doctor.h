/*
 * The two halves of loom doctor that do things; doctor.c puts them together and prints.
 *
 * A check is {"check","works","detail","fix","needed_by":[profile…]} (box/probe.h). A trial is
 * {"profile","works","verdict","reason","detail","operation","session","trace","workspaceMax"(bool),
 * "box":{what the box read back, as recorded}}.
 */
#ifndef LOOM_CLI_DOCTOR_H
#define LOOM_CLI_DOCTOR_H

#include <jansson.h>

#include "base/error.h"
#include "base/macro.h"

/* Have loom-probe do each thing a session needs, in children of its own, and read what it saw. */
int doctor_probe(json_t **ret_checks, struct error *err) MUST_CHECK;

/* Run /bin/true under PROFILE, through the daemon, in an empty directory made for it. */
int doctor_trial(const char *profile, json_t **ret_trial, struct error *err) MUST_CHECK;

#endif
