// Package millrace is the client and the worker of Millrace, a durable job queue behind HTTP.
//
// A producer submits jobs; a worker runs a handler for each. Define names a type of job together
// with its payload, and both sides share it:
//
//	type Mail struct{ To, Subject string }
//
//	var SendMail = millrace.Define[Mail, any]("mail.send", millrace.Queue("mail"))
//
//	func produce(ctx context.Context, client *millrace.Client) error {
//		_, err := SendMail.Submit(ctx, client, Mail{To: "ada@example.org", Subject: "Hello"})
//		return err
//	}
//
//	func work(ctx context.Context, client *millrace.Client) error {
//		worker := client.Worker(millrace.Queues("mail"), millrace.Concurrency(16))
//		millrace.Handle(worker, SendMail, func(ctx context.Context, m Mail) (any, error) {
//			return nil, deliver(ctx, m)
//		})
//		return worker.Run(ctx)
//	}
//
// A job may run more than once, for example if its worker dies before it has reported the outcome.
// Make handlers idempotent.
//
// Durations are sent in whole milliseconds, rounded up. Instants are sent with milliseconds.
// A Client and a Worker are safe for concurrent use by multiple goroutines.
package millrace

// Version is the version of this package, which the client names in the header User-Agent.
const Version = "0.1.0"
