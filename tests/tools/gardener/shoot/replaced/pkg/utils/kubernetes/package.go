// Package kubernetes has what the validation of Shoots calls of Gardener's package, which brings clients and webhooks. It must answer as
// that package does.
package kubernetes

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HasMetaDataAnnotation says whether an object has an annotation with a value.
func HasMetaDataAnnotation(object metav1.Object, key, value string) bool {
	for name, annotation := range object.GetAnnotations() {
		if name == key {
			return annotation == value
		}
	}
	return false
}
