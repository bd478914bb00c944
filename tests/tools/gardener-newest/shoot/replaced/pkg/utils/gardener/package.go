// Package gardener has what the validation of Shoots calls of Gardener's package, which brings clients of all that Gardener deploys. It
// must answer as that package does.
package gardener

import "k8s.io/apimachinery/pkg/runtime/schema"

// ProjectNamespacePrefix is how the namespaces of projects begin.
const ProjectNamespacePrefix = "garden-"

// DefaultGroupResourcesForEncryption are the resources that every Shoot encrypts.
func DefaultGroupResourcesForEncryption() []schema.GroupResource {
	return []schema.GroupResource{{Resource: "secrets"}}
}

// ExtensionsID names an extension.
func ExtensionsID(extensionKind, extensionType string) string {
	return extensionKind + "/" + extensionType
}
