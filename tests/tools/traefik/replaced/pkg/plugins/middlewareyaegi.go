package plugins

import (
	"context"
	"errors"

	"github.com/traefik/traefik/v3/pkg/provider"
)

// The lab's Traefik runs no plugins: their interpreter has a table of all of Go's library.
var errAbsent = errors.New("this Traefik was built without plugins")

type providerBuilder struct {
	Import      string
	BasePkg     string
	interpreter any
}

func newInterpreter(context.Context, string, *Manifest, Settings) (any, error) {
	return nil, errAbsent
}

func newYaegiMiddlewareBuilder(any, string, string) (middlewareBuilder, error) {
	return nil, errAbsent
}

func newWasmMiddlewareBuilder(string, string, string, Settings) (middlewareBuilder, error) {
	return nil, errAbsent
}

// BuildProvider refuses.
func (b Builder) BuildProvider(string, map[string]any) (provider.Provider, error) {
	return nil, errAbsent
}
