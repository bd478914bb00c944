// Package unstructured has what the validation of Shoots calls of Gardener's package, which brings controllers. It must answer as that
// package does.
package unstructured

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GVKFromCrossVersionObjectReference is the kind of a reference, or the empty one with an error.
func GVKFromCrossVersionObjectReference(reference *autoscalingv1.CrossVersionObjectReference) (schema.GroupVersionKind, error) {
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	return version.WithKind(reference.Kind), nil
}
