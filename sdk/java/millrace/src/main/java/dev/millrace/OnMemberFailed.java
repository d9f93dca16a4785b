package dev.millrace;

/** What the failure of a member does to its workflow, unless another member catches it. */
public enum OnMemberFailed {
  /** What hangs on the member is skipped, and the rest runs. */
  CONTINUE,
  /** Nothing more is released, and running jobs are cancelled. */
  STOP,
  /** As {@code CONTINUE}, but the workflow can succeed. */
  IGNORE
}
