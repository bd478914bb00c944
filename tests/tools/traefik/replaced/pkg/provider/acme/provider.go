// Package acme has no way to ask for certificates in the lab, whose own authority signs them all. Traefik's has the clients of every DNS
// service, of which the modules of some can't be had.
package acme

import (
	"errors"
	"time"

	"github.com/go-acme/lego/v5/challenge"
	ptypes "github.com/traefik/paerser/types"
	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/safe"
	traefiktls "github.com/traefik/traefik/v3/pkg/tls"
	"github.com/traefik/traefik/v3/pkg/types"
)

// Configuration is what Traefik reads of it, whoever asks for certificates.
type Configuration struct {
	CAServer      string
	Storage       string
	DNSChallenge  *DNSChallenge
	HTTPChallenge *HTTPChallenge
	TLSChallenge  *TLSChallenge
}

// DNSChallenge is what Traefik reads of it.
type DNSChallenge struct {
	Provider                string
	Propagation             Propagation
	DelayBeforeCheck        ptypes.Duration
	DisablePropagationCheck bool
}

// Propagation is what Traefik reads of it.
type Propagation struct {
	DisableChecks     bool
	DelayBeforeChecks ptypes.Duration
}

// HTTPChallenge is what Traefik reads of it.
type HTTPChallenge struct {
	EntryPoint string
}

// TLSChallenge is what Traefik reads of it.
type TLSChallenge struct{}

// CertAndStore is a certificate and where it is kept.
type CertAndStore struct {
	Certificate

	Store string
}

// Certificate is a certificate and its key.
type Certificate struct {
	Domain      types.Domain
	Certificate []byte
	Key         []byte
}

// Provider asks for no certificate.
type Provider struct {
	*Configuration

	ResolverName string
	Store        Store

	TLSChallengeProvider  challenge.Provider
	HTTPChallengeProvider challenge.Provider
}

// SetTLSManager does nothing.
func (p *Provider) SetTLSManager(*traefiktls.Manager) {}

// SetConfigListenerChan does nothing.
func (p *Provider) SetConfigListenerChan(chan dynamic.Configuration) {}

// ListenConfiguration does nothing.
func (p *Provider) ListenConfiguration(dynamic.Configuration) {}

// ThrottleDuration is how often it may configure Traefik.
func (p *Provider) ThrottleDuration() time.Duration {
	return 0
}

// Init refuses to be used.
func (p *Provider) Init() error {
	return errors.New("this Traefik was built without ACME")
}

// Provide configures nothing.
func (p *Provider) Provide(chan<- dynamic.Message, *safe.Pool) error {
	return nil
}
