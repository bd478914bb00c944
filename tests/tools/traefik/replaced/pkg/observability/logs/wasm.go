// Package logs has no logger for plugins in the lab.
package logs
