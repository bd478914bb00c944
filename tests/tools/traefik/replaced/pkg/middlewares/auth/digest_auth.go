package auth

import (
	"context"
	"errors"
	"net/http"

	"github.com/traefik/traefik/v3/pkg/config/dynamic"
)

// NewDigest refuses to be used: Traefik's own needs its fork of go-http-auth, which isn't in every proxy of modules.
func NewDigest(context.Context, http.Handler, dynamic.DigestAuth, string) (http.Handler, error) {
	return nil, errors.New("this Traefik was built without digest authentication")
}
