import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.JobsApi;
import org.openapitools.client.api.WorkersApi;
import org.openapitools.client.model.ClaimRequest;
import org.openapitools.client.model.CompleteRequest;
import org.openapitools.client.model.JobState;
import org.openapitools.client.model.JobSubmission;
import org.openapitools.client.model.WorkerInput;

/** Five calls with the client that openapi-generator makes: Calls URL QUEUE. */
public final class Calls {
  public static void main(String[] arguments) throws Exception {
    var client = new ApiClient();
    client.updateBaseUri(arguments[0]);
    String queue = arguments[1];
    var jobs = new JobsApi(client);
    var workers = new WorkersApi(client);

    var submitted =
        jobs.submitJob(
            new JobSubmission().type("greet").queue(queue).payload(Map.of("name", "Ada")),
            null,
            null,
            null,
            null);
    String id = submitted.getJob().getId();
    var got = jobs.getJob(id, null, null, null);
    check(got.getState() == JobState.READY, got);

    var claimed =
        workers.claimJobs(
            new ClaimRequest().addQueuesItem(queue).worker(new WorkerInput().id("generated")));
    check(claimed.getJobs().size() == 1, claimed);
    long token = claimed.getJobs().get(0).getLease().getToken();
    var completed =
        workers.completeJob(id, new CompleteRequest().token(token).result("Hello, Ada"), null);
    check(completed.getJob().getState() == JobState.SUCCEEDED, completed);

    var listed = jobs.listJobs(null, queue, null, null, null, null, null, true, null, null, null);
    check(listed.getItems().size() == 1, listed);
    check(listed.getItems().get(0).getState() == JobState.SUCCEEDED, listed);
  }

  private static void check(boolean holds, Object answer) {
    if (!holds) throw new AssertionError("another answer: " + answer);
  }
}
