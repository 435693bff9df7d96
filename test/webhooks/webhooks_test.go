package webhooks

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
	"github.com/c5c3/crossplane-cobaltcore/test/crds"
)

// An order is a claim on a platform.
type order struct {
	// example is the file that it was made of.
	example, size, name string
	claim, platform     map[string]any
}

// with returns an order with additional fields in its claim's spec, and in the platform's. A null field is removed.
func (w order) with(t *testing.T, name string, e edit) order {
	t.Helper()
	out := order{example: w.example, size: w.size, name: w.name + " + " + name, claim: clone(t, w.claim), platform: clone(t, w.platform)}
	merge(out.claim["spec"].(map[string]any), parse(t, e.claim))
	merge(out.platform["spec"].(map[string]any), parse(t, e.platform))
	return out
}

// An edit is a small change of a claim, or of its platform.
type edit struct{ claim, platform string }

const (
	bucket  = `bucket: first, endpoint: "s3:443", credentialsSecretRef: {name: s3}`
	another = `bucket: second, endpoint: "s3:443", credentialsSecretRef: {name: s3}`
)

// edits are of every field of infrastructure.mariadb, and of other fields that affect objects of operators.
var edits = map[string]edit{
	"one member":           {claim: `{infrastructure: {mariadb: {replicas: 1}}}`},
	"five members":         {claim: `{infrastructure: {mariadb: {replicas: 5}}}`},
	"volumes":              {claim: `{infrastructure: {mariadb: {storageSize: 1Ti}}}`},
	"small volumes":        {claim: `{infrastructure: {mariadb: {storageSize: 1Gi}}}`},
	"class":                {claim: `{infrastructure: {mariadb: {storageClass: slow}}}`},
	"platform's class":     {platform: `{storageClass: slow}`},
	"no platform's class":  {platform: `{storageClass: null}`},
	"memory":               {claim: `{infrastructure: {mariadb: {resources: {requests: {cpu: "4"}, limits: {memory: 64Gi}}}}}`},
	"nodes":                {claim: `{infrastructure: {mariadb: {nodeSelector: {a: b}}}}`},
	"taints":               {claim: `{infrastructure: {mariadb: {tolerations: [{operator: Exists}]}}}`},
	"proxy":                {claim: `{infrastructure: {mariadb: {maxScale: {enabled: true}}}}`},
	"no proxy":             {claim: `{infrastructure: {mariadb: {maxScale: {enabled: false}}}}`},
	"proxies":              {claim: `{infrastructure: {mariadb: {maxScale: {replicas: 5}}}}`},
	"metrics":              {claim: `{infrastructure: {mariadb: {metrics: {enabled: true}}}}`},
	"no metrics":           {claim: `{infrastructure: {mariadb: {metrics: {enabled: false}}}}`},
	"backup":               {claim: `{infrastructure: {mariadb: {backup: {schedule: "1 2 * * *", s3: {` + bucket + `}}}}}`},
	"no backup":            {claim: `{infrastructure: {mariadb: {backup: null}}}`},
	"backup's schedule":    {claim: `{infrastructure: {mariadb: {backup: {schedule: "3 4 * * *", s3: {` + bucket + `}}}}}`},
	"backup's retention":   {claim: `{infrastructure: {mariadb: {backup: {retentionDays: 7, s3: {` + bucket + `}}}}}`},
	"backup's bucket":      {claim: `{infrastructure: {mariadb: {backup: {s3: {` + another + `}}}}}`},
	"backup's endpoint":    {claim: `{infrastructure: {mariadb: {backup: {s3: {` + bucket + `, endpoint: "other:443"}}}}}`},
	"backup's region":      {claim: `{infrastructure: {mariadb: {backup: {s3: {` + bucket + `, region: eu, prefix: null}}}}}`},
	"backup's prefix":      {claim: `{infrastructure: {mariadb: {backup: {s3: {` + bucket + `, prefix: a/b}}}}}`},
	"backup's Secret":      {claim: `{infrastructure: {mariadb: {backup: {s3: {` + bucket + `, credentialsSecretRef: {name: other}}}}}}`},
	"backup's authority":   {claim: `{infrastructure: {mariadb: {backup: {s3: {` + bucket + `, privateCA: true}}}}}`},
	"backup's volume":      {claim: `{infrastructure: {mariadb: {backup: {s3: {` + bucket + `}, stagingStorage: {storageSize: 50Gi}}}}}`},
	"backup's class":       {claim: `{infrastructure: {mariadb: {backup: {s3: {` + bucket + `}, stagingStorage: {storageSize: 50Gi, storageClass: slow}}}}}`},
	"restore":              {claim: `{infrastructure: {mariadb: {restoreFrom: {s3: {` + bucket + `}}}}}`},
	"restore another":      {claim: `{infrastructure: {mariadb: {restoreFrom: {s3: {` + another + `, region: us}}}}}`},
	"restore a moment":     {claim: `{infrastructure: {mariadb: {restoreFrom: {targetRecoveryTime: "2026-05-01T03:00:00Z", s3: {` + bucket + `}}}}}`},
	"no restore":           {claim: `{infrastructure: {mariadb: {restoreFrom: null}}}`},
	"monitoring":           {claim: `{global: {monitoring: {enabled: true, labels: {a: b}}}}`, platform: `{monitoring: {enabled: true}}`},
	"no monitoring":        {claim: `{global: {monitoring: null}}`, platform: `{monitoring: null}`},
	"registry":             {claim: `{global: {images: null}}`, platform: `{images: {registry: registry.example.org}}`},
	"pull secrets":         {claim: `{global: {images: {pullSecrets: [one, two]}}}`},
	"no pull secrets":      {claim: `{global: {images: null}}`, platform: `{images: null}`},
	"platform's secrets":   {claim: `{global: {images: null}}`, platform: `{images: {pullSecrets: [platform]}}`},
	"no store":             {claim: `{global: {secretStore: null}}`, platform: `{secretStore: null}`},
	"Keystones":            {claim: `{services: {keystone: {replicas: 9, uwsgi: {processes: 32, threads: 16}}}}`},
	"queue":                {claim: `{infrastructure: {rabbitmq: {replicas: 5, storageSize: 1Ti, resources: {limits: {memory: 8Gi}}}}}`},
	"no queue":             {claim: `{infrastructure: {rabbitmq: {enabled: false}}}`},
	"locks":                {claim: `{infrastructure: {valkey: {replicas: 1, storageSize: 1Ti, sentinel: {enabled: false}}}}`},
	"no locks":             {claim: `{infrastructure: {valkey: {enabled: false}}}`},
	"deletion":             {claim: `{deletionPolicy: Delete}`},
	"a platform with less": {platform: `{exposure: null, tls: null, monitoring: null, secretStore: null, images: null, storageClass: null}`},
}

// sizes are all sizes of a claim.
var sizes = []string{"development", "small", "medium", "large"}

// orders returns the examples in each size.
func orders(t *testing.T) []order {
	t.Helper()
	files, err := fs.Glob(examples.Files, "controlplane/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []order
	for _, f := range files {
		text, err := examples.Files.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range sizes {
			claim := parse(t, string(text))
			claim["metadata"] = map[string]any{"namespace": "tenant-a", "name": "cloud"}
			w := order{example: f, size: size, name: filepath.Base(f), claim: claim, platform: parse(t, string(examples.Platform))}
			// A claim that the platform forbids would not be tried.
			allowAll := "{limits: [" + limittest.Everything + "]}"
			out = append(out, w.with(t, size, edit{claim: "{size: " + size + "}", platform: allowAll}))
		}
	}
	return out
}

// A trial is one edit of an existing claim.
type trial struct{ from, to order }

// TestOwnersAcceptAcceptedEdits checks that each edit that a claim accepts is accepted by the owners of its objects, so that an edit which
// they would reject is rejected on the claim. It edits every example in every size to every other (in
// make test, from every size to every other, and some of the rest), and from every example to one that differs in a
// field, and back.
func TestOwnersAcceptAcceptedEdits(t *testing.T) {
	court := newCourt(t)
	var trials []trial
	all := orders(t)
	var across []trial
	for _, from := range all {
		for _, to := range all {
			switch {
			case from.name == to.name:
			case from.example == to.example:
				trials = append(trials, trial{from, to})
			default:
				across = append(across, trial{from, to})
			}
		}
	}
	// Most examples cannot become each other. One in 31 is tried here, of each pair of sizes some.
	trials = append(trials, effort.Sample(across, 31)...)
	pairs := len(trials)
	if court.operator != nil {
		trials = append(trials, fields(t, all)...)
	}
	for _, tr := range trials {
		court.try(t, tr)
	}
	t.Logf("%d edits (%d between examples): %d rejected at admission, %d by the function, %d accepted with %d updates of objects, %d of them rejected by their owners; "+
		"the operator of MariaDB reviewed %d requests", len(trials), pairs, court.admission, court.function, court.accepted, court.updates, court.rejectedByOwner, court.requests())
	// Most examples differ in fields that are immutable: the location of a database, a queue or a Keystone.
	if court.accepted < pairs/8 {
		t.Errorf("only %d edits were accepted", court.accepted)
	}
	if court.operator == nil {
		t.Skipf("%s does not name MariaDB's operator: its webhooks were not called, and only edits between examples were tried; make test-webhooks does both", program)
	}
}

// fields returns the edits of one field, there and back, of each example in one of the sizes (with LONG=1, in all of them); and the
// edits from one value to another, such as from one bucket to another.
func fields(t *testing.T, all []order) []trial {
	t.Helper()
	var out []trial
	names := slices.Sorted(maps.Keys(edits))
	for i, from := range all {
		for j, name := range names {
			// Most fields have no default that depends on the size. Each example has edits in all sizes, and each edit examples in all sizes.
			if size := (i/len(sizes) + j) % len(sizes); !effort.Long() && from.size != sizes[size] {
				continue
			}
			to := from.with(t, name, edits[name])
			out = append(out, trial{from, to}, trial{to, from})
		}
	}
	for _, a := range names {
		for _, b := range names {
			if a != b && sameField(a, b) {
				out = append(out, trial{all[0].with(t, a, edits[a]), all[0].with(t, b, edits[b])})
			}
		}
	}
	return out
}

// sameField reports whether two edits change the same part of a claim, by the first word of their names.
func sameField(a, b string) bool {
	first := func(s string) string { return strings.Split(strings.TrimSuffix(strings.Fields(s)[0], "'s"), " ")[0] }
	return first(a) == first(b)
}

// court applies edits and collects the results.
type court struct {
	operator *operator
	set      *crds.Set
	// applied are the applied orders, by name: most of them are edited many times.
	applied map[string]application
	// responses by pair of objects.
	responses                                               map[string]string
	admission, function, accepted, updates, rejectedByOwner int
}

// application is an order that was applied, and its objects. cluster is nil if the order is rejected.
type application struct {
	cluster *simulate.Cluster
	live    map[string]map[string]any
}

func newCourt(t *testing.T) *court {
	t.Helper()
	c := &court{operator: startOperator(t), set: crds.Load(t), applied: map[string]application{}, responses: map[string]string{}}
	own, err := definition.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range own {
		c.set.Add(crd)
	}
	return c
}

func (c *court) requests() int {
	if c.operator == nil {
		return 0
	}
	return c.operator.requests
}

// apply applies an order.
func (c *court) apply(t *testing.T, o order) application {
	t.Helper()
	if m, ok := c.applied[o.name]; ok {
		return m
	}
	var m application
	w, err := cluster(o)
	if rejected := (*preview.ValidationErrors)(nil); errors.As(err, &rejected) {
		c.applied[o.name] = m
		return m
	} else if err != nil {
		t.Fatalf("%s: %v", o.name, err)
	}
	live := map[string]map[string]any{}
	var one sync.Mutex // Composite resources are composed side by side.
	w.Reconcile = func(desired []map[string]any) error {
		one.Lock()
		defer one.Unlock()
		for _, o := range desired {
			live[key(o)] = o
		}
		return nil
	}
	if err := w.Run(func(simulate.Step) {}); err == nil {
		m = application{cluster: w, live: live}
	} else if !invalid.Is(err) {
		t.Fatalf("%s: %v", o.name, err)
	}
	c.applied[o.name] = m
	return m
}

// try applies the first order, and then the second.
func (c *court) try(t *testing.T, tr trial) {
	t.Helper()
	from := c.apply(t, tr.from)
	if from.cluster == nil {
		return // There is no such claim.
	}
	next, err := cluster(tr.to)
	if rejected := (*preview.ValidationErrors)(nil); errors.As(err, &rejected) {
		c.admission++
		return
	} else if err != nil {
		t.Fatalf("%s: %v", tr.to.name, err)
	}
	validator, err := c.set.Validator("crossplane.c5c3.io/v1alpha1", "ControlPlaneCluster")
	if err != nil {
		t.Fatal(err)
	}
	if errs := validator.ValidateUpdate(tr.to.claim, tr.from.claim); len(errs) > 0 {
		c.admission++
		return
	}
	live := maps.Clone(from.live)
	var one sync.Mutex
	w := from.cluster.Clone(func(desired []map[string]any) error {
		one.Lock()
		defer one.Unlock()
		for _, o := range desired {
			c.review(t, tr, o, live[key(o)])
			live[key(o)] = o
		}
		return nil
	})
	w.XR.Fields["spec"], w.Required = next.XR.GetFields()["spec"], next.Required
	switch err := w.Run(func(simulate.Step) {}); {
	case invalid.Is(err):
		c.function++
	case err != nil:
		t.Errorf("%s → %s: %v", tr.from.name, tr.to.name, err)
	default:
		c.accepted++
	}
}

// review calls the owners of an object.
func (c *court) review(t *testing.T, tr trial, o, old map[string]any) {
	t.Helper()
	text := fmt.Sprint(o, old)
	response, ok := c.responses[text]
	if !ok {
		response = c.answer(t, o, old)
		c.responses[text] = response
	}
	if old != nil {
		c.updates++
	}
	if response == "" {
		return
	}
	c.rejectedByOwner++
	t.Errorf("%s → %s:\n%s\n%s", tr.from.name, tr.to.name, key(o), response)
}

func (c *court) answer(t *testing.T, o, old map[string]any) string {
	t.Helper()
	var out []string
	if old != nil {
		v, err := c.set.Validator(o["apiVersion"].(string), o["kind"].(string))
		if err != nil {
			t.Fatal(err)
		}
		if v != nil {
			for _, e := range v.ValidateUpdate(o, old) {
				out = append(out, e.Error())
			}
		}
	}
	if c.operator != nil {
		response, err := c.operator.call(o, old)
		if err != nil {
			t.Fatal(err)
		}
		if response != "" {
			out = append(out, response)
		}
	}
	return strings.Join(out, "\n")
}

func cluster(w order) (*simulate.Cluster, error) {
	claim, err := yaml.Marshal(w.claim)
	if err != nil {
		return nil, err
	}
	platform, err := yaml.Marshal(w.platform)
	if err != nil {
		return nil, err
	}
	return preview.NewCluster(claim, platform, kinds.Runners())
}

func key(o map[string]any) string {
	meta, _ := o["metadata"].(map[string]any)
	return fmt.Sprint(o["apiVersion"], " ", o["kind"], " ", meta["namespace"], "/", meta["name"])
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	m := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

func clone(t *testing.T, m map[string]any) map[string]any {
	t.Helper()
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return s.AsMap()
}

// merge merges one map into another; null removes a field.
func merge(into, over map[string]any) {
	for k, v := range over {
		more, isMap := v.(map[string]any)
		below, both := into[k].(map[string]any)
		switch {
		case v == nil:
			delete(into, k)
		case isMap && both:
			merge(below, more)
		case isMap:
			fresh := map[string]any{}
			merge(fresh, more)
			into[k] = fresh
		default:
			into[k] = v
		}
	}
}
