// Package version looks for no newer Traefik in the lab. Traefik's has a client of all of GitHub's API.
package version

import (
	"net/http"
	"time"

	"github.com/gorilla/mux"
)

// What Traefik says of itself.
var (
	Version            = "dev"
	Codename           = "lab"
	BuildDate          = "unknown"
	StartDate          = time.Now()
	DisableDashboardAd = false
	DashboardName      = ""
)

// Handler is the route of the version.
type Handler struct{}

// Append adds the route, which has no answer.
func (Handler) Append(router *mux.Router) {
	router.Methods(http.MethodGet).Path("/api/version").HandlerFunc(http.NotFound)
}

// CheckNewVersion looks for none.
func CheckNewVersion() {}
