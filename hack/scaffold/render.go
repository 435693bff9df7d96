package main

import (
	"bytes"
	"fmt"
	"go/format"
	"io/fs"
	"strconv"
	"strings"
)

// file is a file of the new service.
type file struct {
	path string
	data []byte
	// existing: the file exists, and gets rows for the service.
	existing bool
}

// template is a file of Placement.
type template struct {
	// from is its path.
	from string
	// placeholders are the sentences and values that apply to Placement only.
	placeholders []string
	// part returns the part of the file that is copied. Nil: all of it.
	part func(data string) (string, error)
	// rows are the parts of an existing file that are copied behind themselves. Empty: a new file is written.
	rows []string
}

// templates are the files of Placement. Each is copied to the path with the name of the new service.
var templates = []template{
	{from: "apis/placement/v1alpha1/doc.go", placeholders: []string{"the resource inventory"}},
	{from: "apis/placement/v1alpha1/names.go"},
	{from: "apis/placement/v1alpha1/types.go", placeholders: []string{"the resource inventory"}},
	{from: "apis/placement/testdata/rules.yaml"},
	{from: "apis/controlplane/v1alpha1/services.go", part: section, placeholders: []string{"the resource inventory"}},
	{from: "functions/placement/placement.go", placeholders: []string{
		"servers cannot be created, migrated or resized", "Inventory of what virtual machines use",
		"It has no health check; the version list requires neither a login nor the database.",
		"https://docs.openstack.org/placement/latest/cli/placement-manage.html. Migrations only add columns, so no contract step is required.",
	}},
	{from: "functions/placement/placement_test.go"},
	{from: "functions/placement/owner_test.go"},
	{from: "functions/placement/expected.yaml", placeholders: []string{
		"{version: 13.0.1, groups: 12, options: 194, templateOptions: 0, policyRules: 38}",
		"{version: 14.0.0, groups: 11, options: 198, templateOptions: 0, policyRules: 38}",
		"{version: 15.0.0, groups: 12, options: 194, templateOptions: 0, policyRules: 38}",
		"{version: 16.0.0, groups: 13, options: 190, templateOptions: 0, policyRules: 38}",
		`{revision: "a082b8bb98d0", releases: ["2025.1", "2025.2", "2026.1", "2026.2"]}`,
	}},
	{from: "functions/placement/fields.txt", placeholders: []string{"Deployment/neutron"}},
	{from: "functions/placement/testdata/small.yaml"},
	{from: "functions/placement/testdata/medium.yaml", placeholders: []string{
		"placement: {randomize_allocation_candidates: true}", `"placement:usages": "role:auditor"`,
	}},
	{from: "functions/controlplane/placement/placement.go", placeholders: []string{
		"which tracks the resources of hypervisors", "the service that tracks the resources of hypervisors",
	}},
	{from: "internal/openstack/override/placement.go", placeholders: []string{
		"https://docs.openstack.org/placement/latest/configuration/config.html",
	}},
	{from: "apis/controlplane/v1alpha1/types.go", placeholders: []string{"Resource inventory, which Nova requires"}, rows: []string{
		"\t// Resource inventory, which Nova requires.\n\t// +optional\n\tPlacement *Placement `json:\"placement,omitempty\"`\n",
	}},
	{from: "internal/kindregistry/kindregistry.go", rows: []string{
		"\tplacementv1 \"github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1\"\n",
		"\tof[placementv1.Placement](\"placement\", placementv1.GroupVersionKind, Composed),\n",
	}},
	{from: "functions/kinds/kinds.go", rows: []string{
		"\t\"github.com/c5c3/crossplane-cobaltcore/functions/placement\"\n", "\t\"placement\":       placement.New,\n",
	}},
	{from: "functions/controlplane/table.go", rows: []string{
		"\t\"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/placement\"\n", "\tplacement.Service{},\n",
	}},
	{from: "hack/registry/services.toml", placeholders: []string{
		"openstack-placement", "13.0.1", "14.0.0", "15.0.0", "16.0.0", "db.sqlalchemy.migration:_alembic_config",
	}, rows: []string{`[placement]
requires = ["openstack-placement"]
versions = { "2025.1" = "13.0.1", "2025.2" = "14.0.0", "2026.1" = "15.0.0", "2026.2" = "16.0.0" }
options = ["placement.conf", "keystonemiddleware.auth_token", "oslo.log", "oslo.middleware", "oslo.policy"]
schemas = { placement = ["placement.db.sqlalchemy.migration:_alembic_config"] }

[placement.programs]
"placement.wsgi.api" = {}
placement-manage = {}

`}},
	{from: "images/images.yaml", placeholders: []string{"openstack-placement"}, rows: []string{`- name: placement
  package: openstack-placement
  requires: [PyMySQL, python-memcached, cryptography, uwsgi==2.0.31, setuptools<81]
  compile: [libssl-dev]
  runtime: [libssl3]

`}},
}

// placement is the service that the templates describe.
var placement = service{name: "placement", serviceType: "placement", module: "placement.wsgi.api:application", port: 8778}

// render returns the files of a service. Sources is the project. The files of Placement itself are rendered as they are.
func render(sources fs.FS, s service) ([]file, error) {
	out := make([]file, 0, len(templates))
	for _, t := range templates {
		data, err := fs.ReadFile(sources, t.from)
		if err != nil {
			return nil, fmt.Errorf("cannot read the template: %w", err)
		}
		text := string(data)
		if t.part != nil {
			if text, err = t.part(text); err != nil {
				return nil, fmt.Errorf("%s: %w", t.from, err)
			}
		}
		if len(t.rows) > 0 {
			text, err = t.addRows(text, s)
		} else {
			text, err = t.replace(text, s)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.from, err)
		}
		f := file{path: strings.ReplaceAll(t.from, placement.name, s.name), data: []byte(text), existing: len(t.rows) > 0}
		if t.part != nil {
			f.path = strings.ReplaceAll(t.from, "services.go", s.name+".go")
		}
		if strings.HasSuffix(f.path, ".go") {
			if f.data, err = format.Source(f.data); err != nil { // Imports are sorted by their new names.
				return nil, fmt.Errorf("cannot format %s: %w", f.path, err)
			}
		}
		out = append(out, f)
	}
	return out, nil
}

// addRows returns the text of an existing file with a copy of each of Placement's rows behind it, which has the names of the service.
func (t template) addRows(text string, s service) (string, error) {
	rows, err := t.replace(strings.Join(t.rows, rowMark), s)
	if err != nil {
		return "", err
	}
	for i, row := range strings.Split(rows, rowMark) {
		if strings.Count(text, t.rows[i]) != 1 {
			return "", fmt.Errorf("it must contain %q once; correct the table in hack/scaffold", t.rows[i])
		}
		text = strings.Replace(text, t.rows[i], t.rows[i]+row, 1)
	}
	return text, nil
}

// marks stand for the properties of a service while its sentences and names are replaced.
const (
	nameMark, titleMark, typeMark, moduleMark, portMark = "\x00n", "\x00t", "\x00y", "\x00m", "\x00p"
	// rowMark separates rows.
	rowMark = "\x00r"
)

// replace returns the text of a template with the names of a service, without the sentences about Placement.
func (t template) replace(text string, s service) (string, error) {
	for i, words := range t.placeholders {
		if !strings.Contains(text, words) {
			return "", fmt.Errorf("it does not contain %q any more; correct the table in hack/scaffold", words)
		}
		text = strings.ReplaceAll(text, words, "\x00"+strconv.Itoa(i)+"\x00")
	}
	marked := strings.NewReplacer(
		`ServiceType = "`+placement.serviceType+`"`, `ServiceType = "`+typeMark+`"`, placement.module, moduleMark,
		strconv.Itoa(placement.port), portMark, placement.name, nameMark, placement.title(), titleMark,
	).Replace(text)
	out := strings.NewReplacer(
		typeMark, s.serviceType, moduleMark, s.module, portMark, strconv.Itoa(s.port), nameMark, s.name, titleMark, s.title(),
	).Replace(marked)
	for i, words := range t.placeholders {
		if s.name != placement.name {
			words = placeholder(words)
		}
		out = strings.ReplaceAll(out, "\x00"+strconv.Itoa(i)+"\x00", words)
	}
	return out, nil
}

// placeholder returns the replacement for words about Placement, which keeps a mapping of YAML valid.
func placeholder(words string) string {
	if strings.Contains(words, ": ") {
		return "{} # TODO"
	}
	return "TODO"
}

// title returns the name as documents write it.
func (s service) title() string { return strings.ToUpper(s.name[:1]) + s.name[1:] }

// section returns a Go file with the type of Placement's section of a claim.
func section(data string) (string, error) {
	const first, last = "// Placement is ", "\n}\n"
	_, rest, found := strings.Cut(data, first)
	body, _, ends := strings.Cut(rest, last)
	if !found || !ends {
		return "", fmt.Errorf("it has no type after %q", first)
	}
	var out bytes.Buffer
	out.WriteString("package v1alpha1\n\nimport common \"github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1\"\n\n")
	out.WriteString(first + body + last)
	return out.String(), nil
}
