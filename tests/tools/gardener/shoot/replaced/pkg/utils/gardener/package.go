// Package gardener has what the validation of Shoots calls of Gardener's package, which brings clients of all that Gardener deploys. It
// must answer as that package does.
package gardener

import "k8s.io/apimachinery/pkg/util/sets"

// DefaultResourcesForEncryption are the resources that every Shoot encrypts.
func DefaultResourcesForEncryption() sets.Set[string] {
	return sets.New("secrets")
}

// ExtensionsID names an extension.
func ExtensionsID(extensionKind, extensionType string) string {
	return extensionKind + "/" + extensionType
}

// GenerateDNSProviderName names a DNS provider by what it has of a type and a Secret.
func GenerateDNSProviderName(secretName, providerType string) string {
	if providerType == "" || secretName == "" {
		return providerType + secretName
	}
	return providerType + "-" + secretName
}
