// Package register has the providers of External Secrets that the lab uses: without the others, half of its packages aren't compiled.
package register

import _ "github.com/external-secrets/external-secrets/pkg/provider/vault"
