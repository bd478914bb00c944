// Package ext has what Traefik Hub adds to Traefik's configuration: nothing here. Traefik's own is in no module of a proxy.
package ext

// HTTP adds nothing.
type HTTP struct{}

// Router adds nothing.
type Router struct{}
