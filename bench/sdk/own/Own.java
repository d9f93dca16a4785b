import dev.millrace.JobType;
import dev.millrace.MillraceClient;

/** Millrace for Java. */
public final class Own {
  record Mail(String to) {}

  private static final JobType<Mail> EMPTY = JobType.of("bench.empty", Mail.class);

  public static void main(String[] args) {
    Tally.expect(Long.parseLong(args[1]));
    MillraceClient.builder()
        .url("http://127.0.0.1:" + args[2])
        .build()
        .worker(options -> options.concurrency(16))
        .consume(EMPTY, (mail, context) -> Tally.ran())
        .run();
  }
}
