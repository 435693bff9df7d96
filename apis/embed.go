package apis

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed */*.yaml
var files embed.FS

// Definition returns the generated YAML of one folder: the CompositeResourceDefinition of a claim, its namespaced form or a service,
// or the CustomResourceDefinitions (several documents) of platform, openstack, ovnchassis or c5c3. Another name is an error.
func Definition(folder string) ([]byte, error) {
	for _, file := range []string{"definition.yaml", "crd.yaml"} {
		if data, err := files.ReadFile(folder + "/" + file); err == nil {
			return data, nil
		}
	}
	return nil, fmt.Errorf("cannot find a definition of %q", folder)
}

// JSON returns the documents of a definition in JSON. Each definition is converted once, which takes longer than to decode it, and then
// shared: the result must not be changed.
func JSON(folder string) ([]json.RawMessage, error) {
	convert, _ := converted.LoadOrStore(folder, sync.OnceValues(func() ([]json.RawMessage, error) { return toJSON(folder) }))
	return convert.(func() ([]json.RawMessage, error))() //nolint:forcetypeassert // Nothing else is stored.
}

// converted contains the documents by folder: string to func() ([]json.RawMessage, error).
var converted sync.Map

func toJSON(folder string) ([]json.RawMessage, error) {
	data, err := Definition(folder)
	if err != nil {
		return nil, err
	}
	var out []json.RawMessage
	for doc := range bytes.SplitSeq(data, []byte("\n---\n")) {
		document, err := yaml.YAMLToJSONStrict(doc)
		if err != nil {
			return nil, fmt.Errorf("cannot read the definition of %s: %w", folder, err)
		}
		if string(document) != "null" { // the comment at the start of the file
			out = append(out, document)
		}
	}
	return out, nil
}

// Folders names the folders with a definition of their own, sorted: not the ones of claims' namespaced forms, whose specs are the claims'.
func Folders() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // The file system is part of the program.
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "-namespaced") {
			names = append(names, e.Name())
		}
	}
	return names
}
