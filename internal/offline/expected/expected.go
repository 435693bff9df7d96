// Package expected reads functions/<service>/expected.yaml: facts about a service that tests repeat independently of the code, so that a
// mistake in the code fails a test. The facts are written from the sources and the tools of the service. Each test that compares a fact
// ranges over all services.
package expected

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// Service contains the facts about one service.
type Service struct {
	Options Options `json:"options"`
	// Registry is the content of the option registry, by release.
	Registry map[string]Registry `json:"registry"`
	// Revisions are the revisions of the database schemas, by schema, in the order of the releases.
	Revisions map[string][]Revision `json:"revisions"`
	// Orders are the orders of objects, by the kind that composes them.
	Orders map[string][]Order `json:"orders"`
	// Section is the section of a claim that composes all kinds of objects. Nil: the example of a complete claim has it.
	Section map[string]any `json:"section"`
	Alerts  Alerts         `json:"alerts"`
	// ManyPods is the spec of a claim with more pods of the service than its size has database connections for.
	ManyPods map[string]any `json:"manyPods"`
	// Processes are the workloads with several processes in a container.
	Processes []Processes `json:"processes"`
	// Rollouts are the components whose new version runs first.
	Rollouts []Rollout `json:"rollouts"`
}

// Rollout requires that the new version of a component runs after the new version of another one.
type Rollout struct {
	Component string `json:"component"`
	After     string `json:"after"`
	Reason    string `json:"reason"`
}

// Alerts are the alerts that other services do not have.
type Alerts struct {
	Processes []Alert `json:"processes"`
	// Jobs contains the name of a Job, by the alert that it raises when it has given up.
	Jobs map[string]string `json:"jobs"`
}

// Alert is the beginning of the names of the alerts on a workload. An empty name is an alert that does not exist.
type Alert struct {
	Alert       string `json:"alert"`
	Deployment  string `json:"deployment"`
	StatefulSet string `json:"statefulSet"`
}

// Processes is the number of processes that each connect to the database, in the pods of workloads that match a pattern.
type Processes struct {
	Workload  string `json:"workload"`
	Processes int    `json:"processes"`
	Reason    string `json:"reason"`
}

// Options are the options that a claim cannot set.
type Options struct {
	// Tables are the names of the shared tables that the service has in addition to the tables of every service.
	Tables []string `json:"tables"`
	// Reserved contains the names of options, separated by spaces, by group. "*" stands for all options of a group, and <driver> for the
	// group of a back end with this driver.
	Reserved map[string]string `json:"reserved"`
	// Fields are the fields that set the reserved options, by "group.option".
	Fields map[string]string `json:"fields"`
}

// Registry is the content of the option registry in one release.
type Registry struct {
	Version         string `json:"version"`
	Groups          int    `json:"groups"`
	Options         int    `json:"options"`
	TemplateOptions int    `json:"templateOptions"`
	PolicyRules     int    `json:"policyRules"`
}

// Revision is a revision of a database schema, with the releases that use it.
type Revision struct {
	Revision string   `json:"revision"`
	Releases []string `json:"releases"`
}

// Order requires an object to be ready before another one is created. Both are patterns of "Kind.group name".
type Order struct {
	First string `json:"first"`
	Then  string `json:"then"`
	// Exists: the first object need not be ready.
	Exists bool   `json:"exists"`
	Reason string `json:"reason"`
}

// Services returns the facts about each service, by the folder of its function.
func Services(t testing.TB) map[string]Service {
	t.Helper()
	out, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Read returns the facts about each service, by the folder of its function. They are files of the module that contains the working
// directory.
func Read() (map[string]Service, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(root, "functions", "*", "expected.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no folder below functions has an expected.yaml", root)
	}
	out := make(map[string]Service, len(files))
	for _, file := range files {
		s, err := read(file)
		if err != nil {
			return nil, err
		}
		out[filepath.Base(filepath.Dir(file))] = s
	}
	return out, nil
}

// read returns the facts of a file. An unknown field is an error, because no test would compare it.
func read(file string) (Service, error) {
	var out Service
	data, err := os.ReadFile(file) //nolint:gosec // a file of this repository
	if err != nil {
		return out, err
	}
	if err := yaml.UnmarshalStrict(data, &out); err != nil {
		return out, fmt.Errorf("%s: %w", file, err)
	}
	return out, nil
}

// moduleRoot returns the folder with go.mod above the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s: no folder above it has a go.mod", dir)
		}
	}
}
