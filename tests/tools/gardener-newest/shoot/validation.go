package main

import "github.com/gardener/gardener/pkg/api/core/validation"

// Versions of Gardener differ in the package that validates.
var (
	validateCreation = validation.ValidateInPlaceUpdateStrategyOnCreation
	validateShoot    = validation.ValidateShoot
	validateUpdate   = validation.ValidateShootUpdate
)
