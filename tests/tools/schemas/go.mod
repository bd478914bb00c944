module c5c3.io/lab/schemas

go 1.25.0

require (
	github.com/external-secrets/external-secrets v1.3.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
	github.com/rook/rook v1.20.6
	sigs.k8s.io/gateway-api v1.6.3
)
