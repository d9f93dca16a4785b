module millrace.invalid/kinds

go 1.24.0

require (
	k8s.io/api v0.33.3
	sigs.k8s.io/yaml v1.5.0
)
