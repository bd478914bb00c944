// Package plugins runs none in the lab; see middlewareyaegi.go.
package plugins
