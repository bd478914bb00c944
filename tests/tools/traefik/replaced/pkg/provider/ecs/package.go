// Package ecs finds no containers of Amazon in the lab. Traefik's has the clients of Amazon's APIs, a fifth of all that it compiles.
package ecs

import (
	"errors"

	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/safe"
)

// ProviderName is what Traefik calls it.
const ProviderName = "ecs"

var errAbsent = errors.New("this Traefik was built without ECS")

// Provider is what Traefik reads of it.
type Provider struct {
	Region string `description:"Unused."`
}

// SetDefaults sets none.
func (p *Provider) SetDefaults() {}

// Init refuses.
func (p *Provider) Init() error {
	return errAbsent
}

// Provide refuses.
func (p *Provider) Provide(chan<- dynamic.Message, *safe.Pool) error {
	return errAbsent
}
