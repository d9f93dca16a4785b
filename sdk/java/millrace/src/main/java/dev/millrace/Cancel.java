package dev.millrace;

/** The job is not wanted any more: it ends as cancelled. */
public final class Cancel extends OutcomeException {
  private static final long serialVersionUID = 1;

  /**
   * No more.
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
