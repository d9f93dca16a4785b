// The C interface of modules for `millrace work --module FILE.so`: shared libraries that carry out
// jobs inside the worker's process. A module exports the five functions below. The interface does
// not change within one MILLRACE_MODULE_ABI.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MILLRACE_MODULE_ABI 1

/* Arguments stay valid until the function returns. Texts end with a zero byte; `payload` also has
 * its size. */
typedef struct millrace_job {
  size_t size; /* of this struct in the worker; new members are appended */
  const char* id;
  const char* queue;
  const char* type;
  const char* payload; /* JSON */
  size_t payload_size;
  uint32_t attempt;
  uint64_t token; /* later leases of any job have greater ones */
} millrace_job;

/* One run of a job. Owned by the worker; valid until millrace_module_run() returns. */
typedef struct millrace_run millrace_run;

/* The worker's functions for the module. Thread-safe. Texts are copied. */
typedef struct millrace_host {
  size_t size;
  /* Adds a line to the job's log. `level`: "debug", "info", "warn" or "error". */
  void (*log)(millrace_run* run, const char* level, const char* text);
  /* The result as JSON; invalid JSON fails the attempt. The last one counts, on success. */
  void (*result)(millrace_run* run, const char* json, size_t size);
  /* The job's error, if the run fails. */
  void (*error)(millrace_run* run, const char* type, const char* message);
  /* The delay before the next attempt, or of a snooze; in milliseconds. */
  void (*delay)(millrace_run* run, int64_t ms);
  /* `percent`: 0 to 100. */
  void (*progress)(millrace_run* run, double percent, const char* message);
  /* Returns nonzero if the run should end early. */
  int (*should_end)(millrace_run* run);
} millrace_host;

enum {
  MILLRACE_SUCCEEDED = 0,
  MILLRACE_FAILED = 1,          /* retried while attempts are left */
  MILLRACE_FAILED_FOR_GOOD = 2, /* dead at once */
  MILLRACE_SNOOZED = 3,         /* runs again after the delay; this attempt does not count */
  MILLRACE_RELEASED = 4         /* given back; this attempt does not count */
};

/* 1. Returns MILLRACE_MODULE_ABI. With any other value the module is not used. */
uint32_t millrace_module_abi(void);
/* 2. Called once, before all runs. `config`: the value of --module-config, or "". `host` stays
 *    valid until millrace_module_stop() has returned. Sets `state`, which is passed to the other
 *    functions. If it returns nonzero, the worker ends. */
int millrace_module_start(const millrace_host* host, const char* config, void** state);
/* 3. Carries out one job, and returns one of the values above; any other value fails the attempt.
 *    Called on as many threads at a time as the worker has slots. */
int millrace_module_run(void* state, const millrace_job* job, millrace_run* run);
/* 4. The run should end early: the job was cancelled, its time is over, or its lease is lost.
 *    Called on another thread during millrace_module_run(), at most once per run. */
void millrace_module_cancel(void* state, millrace_run* run);
/* 5. Called once, after all runs. */
void millrace_module_stop(void* state);

#ifdef __cplusplus
}
#endif
