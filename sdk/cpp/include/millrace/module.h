// The C interface of modules for `millrace work --module FILE.so`: a shared library that carries
// jobs out inside the worker's process. A module exports the five functions below. No part of it
// changes within one MILLRACE_MODULE_ABI.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MILLRACE_MODULE_ABI 1

/* What the module is given stays in place until the function returns. Texts end with a zero byte,
 * and `payload` has its size too. */
typedef struct millrace_job {
  size_t size; /* of this struct, as the worker knows it: later members come behind */
  const char* id;
  const char* queue;
  const char* type;
  const char* payload; /* JSON */
  size_t payload_size;
  uint32_t attempt;
  uint64_t token; /* later leases of any job have greater ones */
} millrace_job;

/* One run of a job. It is the worker's, and valid until millrace_module_run() returns. */
typedef struct millrace_run millrace_run;

/* What the worker does for the module. Thread-safe. Texts are copied. */
typedef struct millrace_host {
  size_t size;
  /* A line for the job's log. `level`: "debug", "info", "warn" or "error". */
  void (*log)(millrace_run* run, const char* level, const char* text);
  /* JSON; what is none fails the attempt. The last one counts, if the job succeeds. */
  void (*result)(millrace_run* run, const char* json, size_t size);
  /* What the job's error says, if it fails. */
  void (*error)(millrace_run* run, const char* type, const char* message);
  /* Before the next attempt, or after a snooze; in milliseconds. */
  void (*delay)(millrace_run* run, int64_t ms);
  /* 0 to 100. */
  void (*progress)(millrace_run* run, double percent, const char* message);
  /* Not zero: the run should end early. */
  int (*should_end)(millrace_run* run);
} millrace_host;

enum {
  MILLRACE_SUCCEEDED = 0,
  MILLRACE_FAILED = 1,          /* retried while attempts are left */
  MILLRACE_FAILED_FOR_GOOD = 2, /* dead at once */
  MILLRACE_SNOOZED = 3,         /* again after the delay; this attempt does not count */
  MILLRACE_RELEASED = 4         /* given back; this attempt does not count */
};

/* 1. Gives MILLRACE_MODULE_ABI; with any other number the module is not used. */
uint32_t millrace_module_abi(void);
/* 2. Once, before all runs. `config`: what --module-config says, or "". `host` stays in place until
 *    millrace_module_stop() has returned. Sets `state`, which the other functions get. Not zero:
 *    the worker ends. */
int millrace_module_start(const millrace_host* host, const char* config, void** state);
/* 3. Carries one job out, and gives one of the numbers above; any other number fails the attempt.
 *    Called on as many threads at once as the worker has slots. */
int millrace_module_run(void* state, const millrace_job* job, millrace_run* run);
/* 4. The run should end early: somebody cancelled the job, its time is over, or its lease is lost.
 *    Called on another thread while millrace_module_run() is under way, at most once a run. */
void millrace_module_cancel(void* state, millrace_run* run);
/* 5. Once, after all runs. */
void millrace_module_stop(void* state);

#ifdef __cplusplus
}
#endif
