// Command shoot reads manifests of Gardener Shoots from standard input, YAML documents or JSON, and says of each what
// Gardener's API server would: unknown fields, then defaults, then validation. A Shoot with a resourceVersion is an
// update of the one before it. Arguments set feature gates. It prints one line for each error and leaves with 1 when
// there was any, with 2 when the input can't be read.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gardener/gardener/pkg/apis/core"
	"github.com/gardener/gardener/pkg/apis/core/install"
	"github.com/gardener/gardener/pkg/apiserver/features"
	gardenerfeatures "github.com/gardener/gardener/pkg/features"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func main() {
	features.RegisterFeatureGates()
	for _, gate := range os.Args[1:] {
		if err := gardenerfeatures.DefaultFeatureGate.Set(gate); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	// The decoder sets defaults and converts to the internal version, as the API server's does.
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(core.SchemeGroupVersion)

	documents := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	refused := false
	var former *core.Shoot
	for number := 1; ; number++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		shoot, err := decoded(decoder, document)
		found := []string{}
		if err != nil {
			found = append(found, err.Error())
		} else {
			found = faults(shoot, former)
		}
		for _, fault := range found {
			fmt.Printf("document %d: %s\n", number, fault)
			refused = true
		}
		former = shoot
	}
	if refused {
		os.Exit(1)
	}
}

func decoded(decoder runtime.Decoder, document []byte) (*core.Shoot, error) {
	object, _, err := decoder.Decode(document, nil, nil)
	if err != nil {
		return nil, err
	}
	shoot, ok := object.(*core.Shoot)
	if !ok {
		return nil, fmt.Errorf("expected a Shoot of core.gardener.cloud/v1beta1, got %T", object)
	}
	// The API server fills in the newest version of the CloudProfile before it validates.
	for _, worker := range shoot.Spec.Provider.Workers {
		if image := worker.Machine.Image; image != nil && image.Version == "" {
			image.Version = "1.0.0"
		}
	}
	return shoot, nil
}

// faults are those of a new Shoot, or of one that was another before.
func faults(shoot, former *core.Shoot) []string {
	var found field.ErrorList
	if former != nil && shoot.ResourceVersion != "" {
		// An update of the spec leaves the status alone.
		shoot.Status = former.Status
		found = validateUpdate(shoot, former)
	} else {
		found = append(validateShoot(shoot), validateCreation(shoot)...)
	}
	lines := make([]string, 0, len(found))
	for _, fault := range found {
		lines = append(lines, fmt.Sprintf("%s/%s: %s", shoot.Namespace, shoot.Name, fault))
	}
	return lines
}
