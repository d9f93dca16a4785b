module github.com/millrace/millrace/sdk/go/internal/frameworks

go 1.23.0

require (
	github.com/jackc/pgx/v5 v5.7.6
	github.com/millrace/millrace/sdk/go v0.0.0
	github.com/millrace/millrace/sdk/go/millraceotel v0.0.0
	go.opentelemetry.io/otel v1.32.0
	go.opentelemetry.io/otel/sdk v1.32.0
)

require (
	github.com/go-logr/logr v1.4.2 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.2 // indirect
	go.opentelemetry.io/otel/metric v1.32.0 // indirect
	go.opentelemetry.io/otel/trace v1.32.0 // indirect
	golang.org/x/crypto v0.37.0 // indirect
	golang.org/x/sync v0.13.0 // indirect
	golang.org/x/sys v0.32.0 // indirect
	golang.org/x/text v0.24.0 // indirect
)

replace github.com/millrace/millrace/sdk/go => ../../

replace github.com/millrace/millrace/sdk/go/millraceotel => ../../millraceotel
