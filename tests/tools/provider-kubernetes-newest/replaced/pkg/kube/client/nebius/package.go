// Package nebius refuses to be used: its client isn't in every proxy of modules.
package nebius

import (
	"context"
	"errors"

	"k8s.io/client-go/rest"
)

// SDKStore has no clients.
type SDKStore struct{}

// NewSDKStore returns one.
func NewSDKStore() *SDKStore { return &SDKStore{} }

// WrapRESTConfig authenticates to no cluster.
func WrapRESTConfig(context.Context, *rest.Config, []byte, *SDKStore) error {
	return errors.New("this provider-kubernetes was built without Nebius")
}
