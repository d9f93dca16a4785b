// The kinds of all commands: see kind.h.
#pragma once

#include "core/catalog/catalog_kinds.h"
#include "core/flow/limit_kinds.h"
#include "core/jobs/job_kinds.h"
#include "core/operations/operation_kinds.h"
#include "core/queues/queue_kinds.h"
#include "core/schedules/schedule_kinds.h"
#include "core/workflows/workflow_kinds.h"
