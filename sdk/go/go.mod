module github.com/millrace/millrace/sdk/go

go 1.21
