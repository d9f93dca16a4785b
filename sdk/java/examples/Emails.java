// 2,000 e-mails: idempotent batches, retries, dead letters, a clean stop. Run: java -cp millrace.jar Emails.java
import dev.millrace.*;
import java.time.Duration;
import java.util.stream.IntStream;

public class Emails {
  record Mail(int number, String to) {}

  static final JobType<Mail, Void> MAIL = JobType.of("mail.send", Mail.class)
      .queue("newsletter").maxAttempts(10).retry(RetryPolicy.fixed(Duration.ofMillis(50)));

  public static void main(String[] args) throws InterruptedException {
    MillraceClient client = MillraceClient.create();
    for (int first = 0; first < 2_000; first += 500) {
      var batch = IntStream.range(first, first + 500)
          .mapToObj(n -> MAIL.job(new Mail(n, n % 100 == 0 ? "nobody" : "user" + n + "@example.org"))
              .idempotencyKey("newsletter-7-" + n)).toList();
      client.submitBatch(batch); // safe to run again: the server knows the keys
    }
    Worker worker = client.worker(o -> o.queues("newsletter").concurrency(32)).consume(MAIL, (mail, ctx) -> {
      if (!mail.to().contains("@")) throw new NonRetryable("no address: " + mail.to());
      if (mail.number() % 10 == 3 && ctx.job().attempt() == 1) throw new IllegalStateException("SMTP is busy");
    });
    worker.start();
    while (ended(client.queue("newsletter").counts()) < 2_000) Thread.sleep(50);
    worker.stop();
    System.out.println(client.queue("newsletter").counts());
  }
  static long ended(Queue.Counts counts) { return counts.succeeded() + counts.dead(); }
}
