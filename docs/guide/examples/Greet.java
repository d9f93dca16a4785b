// A producer and a worker in one program.
import dev.millrace.JobType;
import dev.millrace.MillraceClient;
import dev.millrace.Worker;
import java.time.Duration;

public class Greet {
  record Person(String name) {}

  static final JobType<Person, String> GREET =
      JobType.of("greet", Person.class, String.class).queue("greetings");

  public static void main(String[] args) throws Exception {
    MillraceClient client = MillraceClient.create(); // MILLRACE_URL, MILLRACE_TOKEN
    Worker worker = client.worker(o -> o.queues("greetings").concurrency(4)).handle(GREET, (person, ctx) -> {
      ctx.progress(50, "halfway");
      return "Hello, " + person.name();
    });
    worker.start(); // a service would call worker.run()
    String id = client.submit(GREET, new Person("Ada")).id();
    System.out.println(client.waitFor(id, Duration.ofSeconds(30)).result());
    worker.stop();
  }
}
