module github.com/millrace/millrace/sdk/go/millraceotel

go 1.22

require (
	github.com/millrace/millrace/sdk/go v0.0.0
	go.opentelemetry.io/otel v1.32.0
	go.opentelemetry.io/otel/trace v1.32.0
)

require (
	github.com/go-logr/logr v1.4.2 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	go.opentelemetry.io/otel/metric v1.32.0 // indirect
)

replace github.com/millrace/millrace/sdk/go => ../
