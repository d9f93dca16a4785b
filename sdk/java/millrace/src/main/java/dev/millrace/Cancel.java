package dev.millrace;

/** Thrown by a handler to cancel its own job. */
public final class Cancel extends OutcomeException {
  private static final long serialVersionUID = 1;

  /**
   * Cancels the job.
   *
   * @param reason a line in the job's log; may be null
   */
  public Cancel(String reason) {
    super(reason, null);
  }

  @Override
  Outcome outcome() {
    return new Outcome.Cancelled(getMessage());
  }
}
