import dev.millrace.*;

/** Mistakes that javac finds, each on a line that says so. It finds no other. */
class Mistakes {
  record Mail(String to) {}

  static final JobType<Mail, Integer> MAIL = JobType.of("mail", Mail.class, Integer.class);

  void mistakes(MillraceClient client, Job job) {
    client.submit(MAIL, new Mail("ada"));
    client.submit(MAIL, "ada"); // error: the payload's class
    client.submit(MAIL, new Mail("ada"), j -> j.dellay(null)); // error: a member of the submission
    client.worker(o -> o.queues("mail").concurency(4)); // error: an option of the worker
    new Handlers().handle(MAIL, (mail, ctx) -> mail.to().length());
    new Handlers().handle(MAIL, (mail, ctx) -> "sent"); // error: the result's class
    new Handlers().consume(MAIL, (mail, ctx) -> mail.too()); // error: a member of the payload
    new Handlers().handle(MAIL, (mail, ctx) -> ctx.parent("sum", MAIL));
    new Handlers()
        .handle(MAIL, (mail, ctx) -> ctx.parent("sum", Mail.class)); // error: the result's class
    NewWorkflow.of("nightly").onFailed(NewJob.of("page")); // error: a setting of the workflow
    String result = MAIL.resultOf(job); // error: the result's class
    client.putQueue("mail", QueueSettings.create().maxRaedy(5L)); // error: a setting
    client.putLimit("smtp", QueueSettings.create()); // error: settings of another thing
  }
}
