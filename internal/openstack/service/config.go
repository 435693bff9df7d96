package service

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/cache"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/override"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// Common files in the ConfigMap of a service, in addition to <service>.conf.
const (
	PolicyFile = "policy.yaml"
	UWSGIFile  = "uwsgi.ini"
)

// hashDigits is the length of hashes in names.
const hashDigits = 10

// Files are the contents of the ConfigMap of one release. Name is the name of the ConfigMap, which contains a hash of the
// contents.
type Files struct {
	Name string
	Data map[string]string
}

// ExtraFile is a configuration file in addition to the common ones.
type ExtraFile struct {
	Name, Text string
	// External is true if the file is not mounted into the main container.
	External bool
}

func (b *Base) configFile() string { return cmp.Or(b.ConfigFile, b.App+".conf") }

// render renders the configuration files for a release, including the tenant's options and rules, which must be valid in
// that release.
func (s *Service) render(r release.Release) (Files, error) {
	data := map[string]string{}
	if !s.WithoutOsloConfig {
		var err error
		if data, err = s.osloFiles(r); err != nil {
			return Files{}, err
		}
	}
	serve := func(file string, server *workload.UWSGI) {
		data[file], data[workload.HealthFile] = server.Config(), workload.HealthScript
	}
	if s.Module != "" {
		serve(UWSGIFile, cmp.Or(s.extension.API.Server, &s.Server))
	}
	for _, p := range s.extension.Processes {
		if p.Server != nil {
			serve(p.file(), p.Server)
		}
	}
	if s.usesCache() {
		maps.Copy(data, cache.Modules())
	}
	for _, p := range s.extension.Config.Files {
		data[p.Name] = p.Text
	}
	return Files{Name: s.Sub("config-" + HashOf(data)), Data: data}, nil
}

// osloFiles renders the options and the policy rules.
func (s *Service) osloFiles(r release.Release) (map[string]string, error) {
	over, err := override.Options(s.App, string(r), s.Spec.Overrides, "spec", s.Spec.Groups...)
	if err != nil {
		return nil, err
	}
	text, err := s.ComputedOptions().Merge(over).Render()
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", s.configFile(), err)
	}
	rules, err := override.Rules(s.App, string(r), s.Spec.Overrides, "spec")
	if err != nil {
		return nil, err
	}
	for name, rule := range s.extension.Config.Rules {
		if _, ok := rules[name]; !ok {
			rules[name] = rule
		}
	}
	policy, err := s.policy(rules)
	return map[string]string{s.configFile(): text, PolicyFile: policy}, err
}

// policy renders the rules that differ from the service's defaults. The result must not be JSON, such as the empty mapping
// {} of a YAML library: oslo.upgradecheck rejects JSON policy files, and every upgrade would stop at its check.
// https://docs.openstack.org/oslo.policy/latest/admin/policy-yaml-file.html
func (b *Base) policy(rules map[string]string) (string, error) {
	if len(rules) == 0 {
		return "# " + b.Title + "'s own rules apply.\n", nil
	}
	text, err := yaml.Marshal(rules)
	if err != nil {
		return "", fmt.Errorf("cannot write %s: %w", PolicyFile, err)
	}
	return string(text), nil
}

// HashOf returns a hash of the keys and values of a map.
func HashOf[V ~string](data map[string]V) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(data)) {
		parts = append(parts, k, string(data[k]))
	}
	return Hash(parts...)
}

// Hash returns a hash of texts, for a name or an annotation that changes with them.
func Hash(parts ...string) string { return names.Hash(hashDigits, parts...) }

// buildConfig builds the ConfigMaps for the pods of the effective and of the target release, and the content of the
// extension.
func buildConfig[M Instance](m M) ([]compose.Stage, error) {
	s := m.Embedded()
	var stage compose.Stage
	for _, f := range []Files{s.Files, s.SchemaFiles} {
		name := f.Name[len(s.Name)+1:]
		if len(stage) > 0 && stage[0].Name == name {
			continue
		}
		stage = append(stage, compose.Resource{Name: name, Object: s.Workload.ConfigMap(f.Name, f.Data), Revisions: "config"})
	}
	return []compose.Stage{append(stage, s.extension.Pods.Content...)}, nil
}
