package pages

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// clouds are examples that together compose the objects that pages name. Claims of one list refer to each other.
var clouds = [][]string{
	{"complete/storage.yaml", "complete/control-plane.yaml", "complete/hypervisors.yaml"},
	{"controlplane/full.yaml"}, {"hypervisor/agents-control-plane.yaml"}, {"nova/cells.yaml"}, {"cinder/claim.yaml"}, {"tempest/claim.yaml"},
}

// rare is a control plane with relays of OVN and SPICE, which no example has.
const rare = `{apiVersion: crossplane.c5c3.io/v1alpha1, kind: ControlPlaneCluster, metadata: {namespace: tenant-a, name: cloud}, spec: {
	openStackRelease: "2025.2", size: small, services: {placement: {enabled: true}, neutron: {enabled: true, ovn: {relay: {replicas: 2}}},
		glance: {enabled: true, stores: [{name: main, file: {storageSize: 10Gi}}]}, nova: {enabled: true, consoles: {graphical: SPICE}}}}}`

// ofOperators are the objects and containers that operators create for objects of a kind. NAME stands for the name of the object.
var ofOperators = map[string]struct {
	objects    []string
	containers []string
}{
	"mariadb": {
		[]string{"statefulset/NAME", "pod/NAME-0", "pod/NAME-1", "pod/NAME-2", "deployment/NAME-metrics"}, []string{"mariadb"},
	},
	"maxscale":        {[]string{"statefulset/NAME", "pod/NAME-0"}, []string{"maxscale"}},
	"rabbitmqcluster": {[]string{"statefulset/NAME-server", "pod/NAME-server-0"}, []string{"rabbitmq"}},
	"statefulset":     {[]string{"pod/NAME-0"}, nil},
}

// composedNames are the names by which commands refer to composed objects.
type composedNames struct {
	// objects are "<kind>/<name>". containers are of their pods.
	objects, containers map[string]bool
	// labels has the labels of each pod template.
	labels []map[string]string
}

// add records an object.
func (c *composedNames) add(manifest map[string]any) {
	kind, _ := manifest["kind"].(string)
	metadata, _ := manifest["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	kind = strings.ToLower(kind)
	c.objects[kind+"/"+name] = true
	for _, o := range ofOperators[kind].objects {
		c.objects[strings.ReplaceAll(o, "NAME", name)] = true
	}
	for _, o := range ofOperators[kind].containers {
		c.containers[o] = true
	}
	c.addParts(manifest)
}

// addParts records the pod templates, the Secrets and the wrapped object below a value.
func (c *composedNames) addParts(value any) {
	switch v := value.(type) {
	case map[string]any:
		if template, ok := v["template"].(map[string]any); ok {
			metadata, _ := template["metadata"].(map[string]any)
			labels := map[string]string{}
			found, _ := metadata["labels"].(map[string]any)
			for k, l := range found {
				labels[k], _ = l.(string)
			}
			c.labels = append(c.labels, labels)
		}
		if containers, ok := v["containers"].([]any); ok {
			for _, container := range containers {
				if m, ok := container.(map[string]any); ok {
					name, _ := m["name"].(string)
					c.containers[name] = true
				}
			}
		}
		if manifest, ok := v["manifest"].(map[string]any); ok {
			c.add(manifest)
			return
		}
		for key, child := range v {
			if name, ok := child.(string); ok && (strings.HasSuffix(key, "ecretName") || key == "name") {
				c.objects["secret/"+name] = true
			}
			c.addParts(child)
		}
	case []any:
		for _, child := range v {
			c.addParts(child)
		}
	}
}

// composedObjects returns the names of all objects that clouds compose.
func composedObjects(t *testing.T) *composedNames {
	t.Helper()
	out := &composedNames{objects: map[string]bool{}, containers: map[string]bool{}}
	compose := func(existing []*structpb.Struct, claim []byte) []*structpb.Struct {
		r, err := preview.RunWithClaims(existing, claim, examples.Platform, kinds.Runners())
		if err != nil {
			t.Fatalf("%v\n%s", err, claim)
		}
		for _, o := range r.Objects {
			out.add(o.Manifest.AsMap())
		}
		return append(existing, r.Existing...)
	}
	for _, files := range clouds {
		var existing []*structpb.Struct
		for _, file := range files {
			claim, err := examples.Files.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			existing = compose(existing, claim)
		}
	}
	compose(nil, []byte(rare))
	return out
}

// placeholder matches variables of the shell and names in capital letters, which stand for any name.
var placeholder = regexp.MustCompile(`\$\{?[A-Za-z]+\}?|[A-Z][A-Z_]+|<[^>]*>|…`)

// matches reports whether a name has the form of a text with placeholders.
func matches(text string, names map[string]bool) bool {
	parts := placeholder.Split(text, -1)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	pattern := regexp.MustCompile("^" + strings.Join(parts, `[a-z0-9.-]+`) + "$")
	return slices.ContainsFunc(slices.Collect(maps.Keys(names)), pattern.MatchString)
}

// notComposed are objects in namespaces of control planes that other programs create.
var notComposed = []string{"lease/companion.cobaltcore.c5c3.io"}

// errorsOf returns the objects, containers and labels of pods in a command of kubectl that no cloud composes. Only commands in the
// namespace of a cloud are checked.
func (c *composedNames) errorsOf(command []string) []string {
	if i := slices.Index(command, ">"); i >= 0 {
		command = command[:i]
	}
	positional, flags := argumentsOf(command)
	inside := slices.ContainsFunc(flags, func(f [2]string) bool {
		return f[0] == "-n" && slices.Contains([]string{"$INSTANCE", "$OLD"}, f[1])
	})
	if !inside || len(positional) < 2 || positional[0] == "create" && positional[1] != "job" {
		return nil
	}
	arguments := positional[1:]
	switch positional[0] {
	case "rollout":
		arguments = arguments[1:]
	case "create":
		arguments = nil
	case "logs", "exec", "port-forward":
		if !strings.Contains(arguments[0], "/") {
			arguments = slices.Insert(arguments, 0, "pod")
		}
	}
	var names []string
	switch {
	case len(arguments) > 0 && !strings.Contains(arguments[0], "/") && !strings.Contains(arguments[0], ","):
		for _, name := range arguments[1:] {
			if !strings.Contains(name, "=") && !strings.HasSuffix(name, "-") { // The others are annotations and labels.
				names = append(names, arguments[0]+"/"+name)
			}
		}
	default:
		for _, name := range arguments {
			if strings.Contains(name, "/") && !strings.Contains(name, "=") {
				names = append(names, name)
			}
		}
	}
	var out []string
	for _, f := range flags {
		switch f[0] {
		case "--from":
			names = append(names, f[1])
		case "-c":
			if !matches(f[1], c.containers) {
				out = append(out, "no container "+f[1])
			}
		case "-l":
			if !strings.HasPrefix(f[1], "$") {
				out = append(out, c.selectorErrors(f[1])...)
			}
		}
	}
	for _, name := range names {
		kind, name, _ := strings.Cut(name, "/")
		kind, _, _ = strings.Cut(strings.ToLower(kind), ".")
		switch {
		case kind == "deploy":
			kind = "deployment"
		case strings.HasSuffix(kind, "ies"):
			kind = strings.TrimSuffix(kind, "ies") + "y"
		case !strings.HasSuffix(kind, "ss"):
			kind = strings.TrimSuffix(kind, "s")
		}
		if placeholder.ReplaceAllString(name, "") == "" || kind == "$kind" {
			continue
		}
		if slices.Contains(notComposed, kind+"/"+name) || matches(kind+"/"+name, c.objects) {
			continue
		}
		out = append(out, "no "+kind+" "+name)
	}
	return out
}

// selectorErrors returns an error if no pod template has the labels of a selector. Pods of operators are not checked.
func (c *composedNames) selectorErrors(selector string) []string {
	if !strings.HasPrefix(selector, "app.kubernetes.io/name=") {
		return nil
	}
	hasLabels := func(labels map[string]string) bool {
		for term := range strings.SplitSeq(selector, ",") {
			key, value, _ := strings.Cut(term, "=")
			if !matches(value, map[string]bool{labels[key]: true}) {
				return false
			}
		}
		return true
	}
	if placeholder.ReplaceAllString(selector, "") == "app.kubernetes.io/name=" || slices.ContainsFunc(c.labels, hasLabels) {
		return nil
	}
	return []string{"no pod has the labels " + selector}
}

// TestObjectsOfPages checks that objects, containers and labels in commands of kubectl for the namespace of a cloud are composed from the
// examples.
func TestObjectsOfPages(t *testing.T) {
	names, pages := composedObjects(t), readPages(t)
	assigned := regexp.MustCompile(`^[A-Z]+=(app\.kubernetes\.io/name=.*)$`)
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		if strings.HasPrefix(page, "docs/design/") {
			continue // Decisions describe the objects of their time.
		}
		for _, code := range codeOf(pages[page], "sh") {
			for _, command := range commands(code) {
				var problems []string
				if m := assigned.FindStringSubmatch(command[0]); m != nil {
					problems = names.selectorErrors(m[1])
				}
				if i := slices.Index(command, "kubectl"); i >= 0 {
					problems = names.errorsOf(command[i:])
				}
				for _, problem := range problems {
					t.Errorf("%s: %s: %s", page, strings.Join(command, " "), problem)
				}
			}
		}
	}
}

func TestFindsNamesOfMissingObjects(t *testing.T) {
	names := &composedNames{objects: map[string]bool{}, containers: map[string]bool{}}
	names.add(map[string]any{"kind": "StatefulSet", "metadata": map[string]any{"name": "nova-east-conductor"}, "spec": map[string]any{
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app.kubernetes.io/name": "nova", "app.kubernetes.io/component": "conductor"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "worker"}}},
		},
	}})
	names.add(map[string]any{"kind": "Object", "metadata": map[string]any{"name": "x"}, "spec": map[string]any{"forProvider": map[string]any{
		"manifest": map[string]any{"kind": "RabbitmqCluster", "metadata": map[string]any{"name": "queue"}},
	}}})
	for name, tc := range map[string]struct {
		reason, code string
		want         []string
	}{
		"Exists": {reason: "A variable stands for any part.", code: "kubectl rollout status -n $INSTANCE statefulset/nova-$CELL-conductor"},
		"NoObject": {
			reason: "A name that no cloud has.", code: "kubectl get statefulsets nova-conductor -n $INSTANCE",
			want: []string{"no statefulset nova-conductor"},
		},
		"Kind": {
			reason: "The name of another kind.", code: "kubectl logs -n $INSTANCE deploy/nova-east-conductor",
			want: []string{"no deployment nova-east-conductor"},
		},
		"Operator": {reason: "The operator creates the pod.", code: "kubectl exec -n $INSTANCE queue-server-0 -c rabbitmq -- ls"},
		"Container": {
			reason: "No pod has the container.", code: "kubectl logs -n $INSTANCE nova-east-conductor-0 -c api", want: []string{"no container api"},
		},
		"Labels": {
			reason: "Labels of one pod.", code: "kubectl get pods -n $INSTANCE -l app.kubernetes.io/name=nova,app.kubernetes.io/component=api",
			want: []string{"no pod has the labels app.kubernetes.io/name=nova,app.kubernetes.io/component=api"},
		},
		"Elsewhere": {reason: "Another namespace.", code: "kubectl get deployment x -n operators"},
		"Any":       {reason: "A placeholder alone.", code: "kubectl logs -n $INSTANCE job/$JOB"},
		"Annotate":  {reason: "Annotations are not names.", code: "kubectl annotate -n $INSTANCE statefulset nova-east-conductor a=b c-"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, command := range commands(tc.code) {
				got = append(got, names.errorsOf(command)...)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
