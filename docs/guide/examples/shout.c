/* A module for `millrace work --module`: answers each payload in capital letters. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "millrace/module.h"

static const millrace_host* host;

uint32_t millrace_module_abi(void) { return MILLRACE_MODULE_ABI; }

int millrace_module_start(const millrace_host* its_host, const char* config, void** state) {
  host = its_host;
  *state = strdup(config);
  return *state == NULL;
}

int millrace_module_run(void* state, const millrace_job* job, millrace_run* run) {
  char* text = malloc(job->payload_size);
  if (text == NULL) return MILLRACE_RELEASED;
  for (size_t i = 0; i < job->payload_size; ++i) text[i] = (char)toupper((unsigned char)job->payload[i]);
  host->log(run, "info", state);
  host->result(run, text, job->payload_size);
  free(text);
  return MILLRACE_SUCCEEDED;
}

void millrace_module_cancel(void* state, millrace_run* run) { (void)state, (void)run; }

void millrace_module_stop(void* state) { free(state); }
