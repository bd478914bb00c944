module c5c3.io/lab/schemas

go 1.25.0

require (
	github.com/external-secrets/external-secrets v1.3.2
	github.com/rook/rook v1.15.0
)
