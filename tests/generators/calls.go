// Five calls with the client that oapi-codegen makes: calls URL QUEUE.
package main

import (
	"context"
	"log"
	"os"

	"example.invalid/calls/api"
)

func check(err error, answered bool, body []byte) {
	if err != nil {
		log.Fatal(err)
	}
	if !answered {
		log.Fatalf("another answer: %s", body)
	}
}

func main() {
	ctx := context.Background()
	url, queue := os.Args[1], os.Args[2]
	client, err := api.NewClientWithResponses(url)
	check(err, true, nil)

	var payload api.OpaqueJson = map[string]any{"name": "Ada"}
	submitted, err := client.SubmitJobWithResponse(ctx, nil,
		api.JobSubmission{Type: "greet", Queue: &queue, Payload: &payload})
	check(err, submitted != nil && submitted.JSON201 != nil, submitted.Body)
	id := submitted.JSON201.Id

	got, err := client.GetJobWithResponse(ctx, id, nil)
	check(err, got.JSON200 != nil && got.JSON200.State == "ready", got.Body)

	claimed, err := client.ClaimJobsWithResponse(ctx, api.ClaimRequest{
		Queues: []api.Name{queue}, Worker: api.WorkerInput{Id: "generated"}})
	check(err, claimed.JSON200 != nil && len(claimed.JSON200.Jobs) == 1, claimed.Body)

	var result api.OpaqueJson = "Hello, Ada"
	completed, err := client.CompleteJobWithResponse(ctx, id, nil, api.CompleteJobJSONRequestBody{
		Token: claimed.JSON200.Jobs[0].Lease.Token, Result: &result})
	check(err, completed.JSON200 != nil, completed.Body)

	fresh := true
	listed, err := client.ListJobsWithResponse(ctx, &api.ListJobsParams{Queue: &queue, Fresh: &fresh})
	check(err, listed.JSON200 != nil && len(listed.JSON200.Items) == 1 &&
		listed.JSON200.Items[0].State == "succeeded", listed.Body)
}
