package apis

import (
	"embed"
	"fmt"
)

//go:embed */*.yaml
var files embed.FS

// Definition returns the generated YAML of one folder: the CompositeResourceDefinition of controlplane, hypervisor, storage or a service,
// or the CustomResourceDefinitions (several documents) of platform, openstack, ovnchassis or c5c3. Another name is an error.
func Definition(folder string) ([]byte, error) {
	for _, file := range []string{"definition.yaml", "crd.yaml"} {
		if data, err := files.ReadFile(folder + "/" + file); err == nil {
			return data, nil
		}
	}
	return nil, fmt.Errorf("cannot find a definition of %q", folder)
}

// Folders names the folders that have a definition, sorted.
func Folders() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // The file system is part of the program.
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
