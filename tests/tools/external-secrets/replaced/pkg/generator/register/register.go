// Package register has the generators of External Secrets that the lab uses: none.
package register
