package preview

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/manifest"
)

// Formats lists the output formats of Print.
var Formats = []string{"tree", "yaml", "json", "dot"}

// Print writes the result in one of the Formats; default: tree.
func (r *Result) Print(w io.Writer, format string) error {
	switch format {
	case "yaml":
		return r.yaml(w)
	case "json":
		return r.json(w)
	case "dot":
		return r.dot(w)
	}
	return r.tree(w)
}

// PrintAll writes the results of several claims in a format, except dot.
func PrintAll(w io.Writer, format string, results []*Result) error {
	if format == "json" {
		all := jsonResults{APIVersion: JSONVersion, Claims: []jsonResult{}}
		for _, r := range results {
			one, err := r.jsonResult()
			if err != nil {
				return err
			}
			all.Claims = append(all.Claims, one)
		}
		return printJSON(w, all)
	}
	for i, r := range results {
		if format == "tree" && i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := r.Print(w, format); err != nil {
			return err
		}
	}
	return nil
}

// Until returns the result with only the stages up to n, or all if n is 0.
func (r *Result) Until(n int) *Result {
	if n == 0 {
		return r
	}
	out := *r
	out.Objects = slices.DeleteFunc(slices.Clone(r.Objects), func(o Object) bool { return o.Stage > n })
	out.Stages = min(n, r.Stages)
	return &out
}

func (r *Result) yaml(w io.Writer) error {
	for _, o := range r.Objects {
		if _, err := fmt.Fprintf(w, "---\n# stage %02d, %s\n%s", o.Stage, o.Component, manifest.YAML(o.Manifest)); err != nil {
			return err
		}
	}
	return nil
}

// JSONVersion is the version of the JSON output. Fields may be added; changing or removing one requires a new version.
const JSONVersion = "preview.cobaltcore.c5c3.io/v1"

// jsonResults are the results of several claims.
type jsonResults struct {
	APIVersion string       `json:"apiVersion"`
	Claims     []jsonResult `json:"claims"`
}

type jsonResult struct {
	APIVersion string         `json:"apiVersion"`
	Claim      jsonClaim      `json:"claim"`
	Instance   string         `json:"instance"`
	Stages     int            `json:"stages"`
	Totals     jsonTotals     `json:"totals"`
	Objects    []jsonObject   `json:"objects"`
	Components []jsonEntry    `json:"components"`
	Secrets    []jsonSecret   `json:"secrets"`
	Status     map[string]any `json:"status"`
}

type jsonTotals struct {
	Pods     int64  `json:"pods"`
	NodePods int64  `json:"nodePods"`
	CPU      string `json:"cpu"`
	Memory   string `json:"memory"`
	Storage  string `json:"storage"`
}

type jsonClaim struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

type jsonObject struct {
	Stage      int            `json:"stage"`
	Component  string         `json:"component"`
	Owner      string         `json:"owner"`
	Resource   string         `json:"resource"`
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Name       string         `json:"name"`
	Namespace  string         `json:"namespace,omitempty"`
	Cluster    string         `json:"cluster,omitempty"`
	Wrapped    bool           `json:"wrapped"`
	Retained   bool           `json:"retained"`
	Manifest   map[string]any `json:"manifest"`
}

type jsonSecret struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Keys      []string `json:"keys"`
}

type jsonEntry struct {
	Owner string   `json:"owner"`
	Name  string   `json:"name"`
	After []string `json:"after,omitempty"`
}

func (r *Result) json(w io.Writer) error {
	out, err := r.jsonResult()
	if err != nil {
		return err
	}
	return printJSON(w, out)
}

func (r *Result) jsonResult() (jsonResult, error) {
	totals, err := r.Totals()
	if err != nil {
		return jsonResult{}, err
	}
	out := jsonResult{
		APIVersion: JSONVersion,
		Claim:      jsonClaim{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name},
		Instance:   r.Instance, Stages: r.Stages, Status: r.Status,
		Totals: jsonTotals{
			Pods: totals.Pods, NodePods: totals.NodePods, CPU: totals.CPU.String(), Memory: totals.Memory.String(), Storage: totals.Storage.String(),
		},
		Objects: []jsonObject{}, Components: []jsonEntry{}, Secrets: []jsonSecret{},
	}
	for _, o := range r.Objects {
		out.Objects = append(out.Objects, jsonObject{
			Stage: o.Stage, Component: o.Component, Owner: o.Owner, Resource: o.Resource,
			APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, Namespace: o.Namespace, Cluster: o.Cluster,
			Wrapped: o.Wrapped, Retained: o.Retained, Manifest: o.Manifest.AsMap(),
		})
	}
	for _, c := range r.Components {
		out.Components = append(out.Components, jsonEntry(c))
	}
	for _, s := range r.Secrets {
		out.Secrets = append(out.Secrets, jsonSecret(s))
	}
	return out, nil
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// dot writes the graph of components in Graphviz' language (https://graphviz.org/doc/info/lang.html).
func (r *Result) dot(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %q {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n", r.Name)
	for _, owner := range r.owners() {
		fmt.Fprintf(&b, "  subgraph %q {\n    label=%q;\n", "cluster_"+owner, owner)
		for _, c := range r.Components {
			if c.Owner == owner {
				fmt.Fprintf(&b, "    %q [label=%q];\n", owner+"/"+c.Name, c.Name)
			}
		}
		b.WriteString("  }\n")
	}
	for _, c := range r.Components {
		for _, a := range c.After {
			fmt.Fprintf(&b, "  %q -> %q;\n", c.Owner+"/"+a, c.Owner+"/"+c.Name)
		}
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Result) owners() []string {
	var out []string
	for _, c := range r.Components {
		if !slices.Contains(out, c.Owner) {
			out = append(out, c.Owner)
		}
	}
	return out
}

// tree writes one line for each stage of a component, with the objects of that stage.
func (r *Result) tree(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", r.Kind, path.Join(r.Namespace, r.Name))
	if r.Instance != "" {
		fmt.Fprintf(&b, " → namespace %s", r.Instance)
	}
	b.WriteByte('\n')
	overview, err := r.overview()
	if err != nil {
		return err
	}
	b.WriteString(overview)
	groups := r.groups()
	width := 0
	for _, g := range groups {
		width = max(width, len(g.component))
	}
	for i, g := range groups {
		branch := "├─"
		if i == len(groups)-1 {
			branch = "└─"
		}
		fmt.Fprintf(&b, "%s %02d %-*s %3d  %s\n", branch, g.stage, width, g.component, len(g.objects), g.summary())
	}
	wrapped, retained := 0, 0
	for _, o := range r.Objects {
		if o.Wrapped {
			wrapped++
		}
		if o.Retained {
			retained++
		}
	}
	fmt.Fprintf(&b, "%d objects in %d stages; %d retained when the claim is deleted (†), %d composed as Objects\n",
		len(r.Objects), r.Stages, retained, wrapped)
	for _, s := range r.Secrets {
		fmt.Fprintln(&b, s)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// group contains the objects of one component in one stage.
type group struct {
	stage     int
	component string
	objects   []Object
}

func (r *Result) groups() []group {
	var out []group
	for _, o := range r.Objects {
		if n := len(out); n == 0 || out[n-1].stage != o.Stage || out[n-1].component != o.Component {
			out = append(out, group{stage: o.Stage, component: o.Component})
		}
		last := &out[len(out)-1]
		last.objects = append(last.objects, o)
	}
	return out
}

// summary lists the objects, grouped by kind.
func (g group) summary() string {
	var kinds []string
	names := map[string][]string{}
	for _, o := range g.objects {
		if names[o.Kind] == nil {
			kinds = append(kinds, o.Kind)
		}
		name := o.Name
		if o.Retained {
			name += "†"
		}
		names[o.Kind] = append(names[o.Kind], name)
	}
	out := make([]string, len(kinds))
	for i, k := range kinds {
		out[i] = k + " " + strings.Join(names[k], " ")
	}
	return strings.Join(out, ", ")
}
