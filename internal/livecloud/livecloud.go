// Package livecloud reads a running cloud from a cluster, for plans: its claims, its PlatformConfig, and the existing objects that differ
// from the objects which the installed functions compose. It only reads, and never a Secret.
package livecloud

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	cloudv1 "github.com/c5c3/crossplane-cobaltcore/apis/cloud/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/doctor"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// File is the name of the cluster in errors about a document.
const File = "the cluster"

// Options select the claims to read.
type Options struct {
	// Namespace limits the claims to one namespace, and the claims of other namespaces to which they refer. Empty: the whole cluster.
	Namespace string
	// Edited are the claims after the edit: they are read with the claims that depend on each other. Nil: all claims are read.
	Edited []plan.Document
	// HasPlatform means that the caller has a PlatformConfig: a missing right to read the cluster's PlatformConfig is no error.
	HasPlatform bool
}

// Cloud is a running cloud.
type Cloud struct {
	// Claims of the cluster, sorted by namespace and name. Platform is the PlatformConfig; its data is nil if it does not exist.
	Claims   []plan.Document
	Platform plan.Document
	// Notes are messages for the user about the state of the cloud.
	Notes []string

	claims   []*unstructured.Unstructured
	platform map[string]any
	// clusters are the WorkloadClusters that claims select, as entries of a PlatformConfig.
	clusters []map[string]any
	reader   *reader
}

// Read reads the claims and the PlatformConfig of a cluster. Requests that fail are a ReadError.
func Read(ctx context.Context, r doctor.Reader, o Options) (*Cloud, error) {
	c := &Cloud{reader: newReader(r), Platform: plan.Document{File: File, Live: true}}
	all, err := c.list(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := c.readPlatform(ctx, o.HasPlatform); err != nil {
		return nil, err
	}
	if o.Edited != nil {
		if all, err = c.related(ctx, all, o.Edited); err != nil {
			return nil, err
		}
	}
	if err := c.readClusters(ctx, all, o.Edited); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(
			cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetKind(), b.GetKind()),
		)
	})
	for _, claim := range all {
		if cloudOf(claim) != "" {
			c.claims = append(c.claims, claim) // The document of its cloud contains it.
			continue
		}
		if err := c.add(claim, o.Edited); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// claimNameLabel is the label of a composed object with the name of the claim that it belongs to.
const claimNameLabel = "crossplane.io/claim-name"

// cloudOf returns the name of the OpenStackCluster that composes a claim, in the namespace of the claim. Empty: a user has created the
// claim.
func cloudOf(claim *unstructured.Unstructured) string {
	for _, owner := range claim.GetOwnerReferences() {
		if owner.Kind == cloudv1.CompositeGroupVersionKind.Kind && ptr.Deref(owner.Controller, false) {
			return claim.GetLabels()[claimNameLabel]
		}
	}
	return ""
}

// list returns all claims of the options' namespace or of the cluster.
func (c *Cloud) list(ctx context.Context, o Options) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, k := range kindregistry.WithForm(kindregistry.Claimed) {
		items, err := c.reader.list(ctx, k.GroupVersionKind, o.Namespace)
		if err != nil {
			c.reader.fail(err)
			continue
		}
		if len(items) >= doctor.MaxItems {
			return nil, newReadError("--cluster", fmt.Sprintf("at most %d claims of a kind are read, and there are more of the kind %s",
				doctor.MaxItems, k.Kind), "set -n")
		}
		for i := range items {
			out = append(out, &items[i])
		}
	}
	return out, c.reader.err()
}

// readPlatform reads the PlatformConfig.
func (c *Cloud) readPlatform(ctx context.Context, optional bool) error {
	o, err := c.reader.get(ctx, platformv1.GroupVersionKind, "", platformv1.DefaultName)
	switch {
	case isMissing(err):
		if optional {
			return nil
		}
		return newReadError("PlatformConfig "+platformv1.DefaultName, "does not exist", "create it, or set -e")
	case apierrors.IsForbidden(err) && optional:
		c.note("missing right: get platformconfigs.crossplane.c5c3.io; the plan assumes that the PlatformConfig of -e is in force")
		return nil
	case err != nil:
		c.reader.fail(err)
		return c.reader.err()
	}
	c.platform = o.Object
	c.Platform.Data, err = document(o, nil)
	return err
}

// related returns the edited claims, the claims that depend on them, and the claims to which these refer.
func (c *Cloud) related(
	ctx context.Context, all []*unstructured.Unstructured, edited []plan.Document,
) ([]*unstructured.Unstructured, error) {
	existing, refers := relations(all)
	needed := map[preview.Identity]bool{}
	for _, d := range edited {
		needed[d.Identity] = true
		refers[d.Identity] = append(refers[d.Identity], specReferences(d)...)
	}
	addDependents(needed, refers)
	queue := slices.Collect(maps.Keys(needed))
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		if existing[id] == nil {
			claim, err := c.claim(ctx, id)
			if err != nil {
				return nil, err
			}
			if claim == nil {
				continue // It is created, or the plan has the error about the reference.
			}
			existing[id] = claim
			refers[id] = append(refers[id], references(claim.Object["spec"], id.Namespace)...)
		}
		for _, to := range refers[id] {
			if !needed[to] {
				needed[to] = true
				queue = append(queue, to)
			}
		}
	}
	var out []*unstructured.Unstructured
	for id := range needed {
		if claim := existing[id]; claim != nil {
			out = append(out, claim)
		}
	}
	return out, nil
}

// relations returns claims by their identity, and the identities to which each of them refers.
func relations(all []*unstructured.Unstructured) (
	claims map[preview.Identity]*unstructured.Unstructured, refers map[preview.Identity][]preview.Identity,
) {
	claims, refers = map[preview.Identity]*unstructured.Unstructured{}, map[preview.Identity][]preview.Identity{}
	for _, claim := range all {
		id := identity(claim)
		claims[id] = claim
		refers[id] = references(claim.Object["spec"], id.Namespace)
		if name := cloudOf(claim); name != "" { // Claims that depend on it depend on its cloud.
			cloud := preview.Identity{Kind: cloudv1.GroupVersionKind.Kind, Namespace: id.Namespace, Name: name}
			refers[id] = append(refers[id], cloud)
		}
	}
	return claims, refers
}

// addDependents adds the claims that refer to needed ones, also indirectly.
func addDependents(needed map[preview.Identity]bool, refers map[preview.Identity][]preview.Identity) {
	for changed := true; changed; {
		changed = false
		for id, to := range refers {
			if !needed[id] && slices.ContainsFunc(to, func(t preview.Identity) bool { return needed[t] }) {
				needed[id], changed = true, true
			}
		}
	}
}

// claim returns a claim that is not in the list of the namespace, or nil if it does not exist.
func (c *Cloud) claim(ctx context.Context, id preview.Identity) (*unstructured.Unstructured, error) {
	for _, k := range kindregistry.WithForm(kindregistry.Claimed) {
		if k.Kind != id.Kind || !id.Known() {
			continue
		}
		o, err := c.reader.get(ctx, k.GroupVersionKind, id.Namespace, id.Name)
		if err != nil && !isMissing(err) {
			c.reader.fail(err)
			return nil, c.reader.err()
		}
		return o, nil
	}
	return nil, nil
}

// add adds a claim of the cluster. A claim that was never valid has no objects and is omitted.
func (c *Cloud) add(claim *unstructured.Unstructured, edited []plan.Document) error {
	id := identity(claim)
	ref := fmt.Sprintf("%s %s in namespace %s", id.Kind, id.Name, id.Namespace)
	isEdited := slices.ContainsFunc(edited, func(d plan.Document) bool { return d.Identity == id })
	if isEdited && claim.GetDeletionTimestamp() != nil {
		return newReadError(ref, "is being deleted", "wait until it does not exist, and plan its creation")
	}
	spec, _ := claim.Object["spec"].(map[string]any)
	if message, invalid := condition(claim, "SpecValid"); invalid {
		valid, _, _ := unstructured.NestedMap(claim.Object, "status", "lastValidSpec")
		if valid == nil {
			c.note(fmt.Sprintf("%s was never valid, and has no objects: %s", ref, message))
			return nil
		}
		c.note(fmt.Sprintf("%s is invalid; the plan starts from its last valid spec: %s", ref, message))
		spec = valid
	} else if message, old := condition(claim, "Current"); old {
		c.note(fmt.Sprintf("%s is not ready; the plan assumes that it becomes ready before the edit: %s", ref, message))
	}
	data, err := document(claim, spec)
	if err != nil {
		return err
	}
	d := plan.Document{Identity: id, File: File, Data: data, Live: true}
	instance, _, _ := unstructured.NestedString(claim.Object, "status", "instance")
	if id.Kind == controlplanev1.GroupVersionKind.Kind && instance == names.LegacyInstance(id.Namespace, id.Name) {
		d.Instance = instance
	}
	c.Claims = append(c.Claims, d)
	c.claims = append(c.claims, claim)
	return nil
}

func (c *Cloud) note(text string) { c.Notes = append(c.Notes, text) }

// condition returns the message of a condition, and whether the condition is False.
func condition(claim *unstructured.Unstructured, typ string) (message string, isFalse bool) {
	conditions, _, _ := unstructured.NestedSlice(claim.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == typ && m["status"] == "False" {
			message, _ := m["message"].(string)
			return strings.Join(strings.Fields(message), " "), true
		}
	}
	return "", false
}

// document returns an object as a user writes it: with the spec, if it is not nil, and without status and metadata of API servers.
func document(o *unstructured.Unstructured, spec map[string]any) ([]byte, error) {
	meta := map[string]any{"name": o.GetName()}
	if namespace := o.GetNamespace(); namespace != "" {
		meta["namespace"] = namespace
	}
	if labels := o.GetLabels(); len(labels) > 0 {
		meta["labels"] = labels
	}
	annotations := o.GetAnnotations()
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	if len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	out := map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "metadata": meta, "spec": o.Object["spec"]}
	if spec != nil {
		out["spec"] = spec
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("cannot encode %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return data, nil
}

func identity(o *unstructured.Unstructured) preview.Identity {
	return preview.Identity{Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// specReferences returns the claims to which a document refers. An unreadable document is an error of the plan.
func specReferences(d plan.Document) []preview.Identity {
	var claim struct{ Spec any }
	if yaml.Unmarshal(d.Data, &claim) != nil {
		return nil
	}
	return references(claim.Spec, d.Namespace)
}

// referenceKinds contains the kind of the claim to which each field of a claim refers (common.ClaimReference).
var referenceKinds = map[string]string{
	"controlPlaneRef": controlplanev1.GroupVersionKind.Kind, "clusterRef": storagev1.GroupVersionKind.Kind,
}

// references returns the claims to which a spec refers.
func references(spec any, namespace string) []preview.Identity {
	var out []preview.Identity
	switch v := spec.(type) {
	case map[string]any:
		for key, e := range v {
			if ref, ok := e.(map[string]any); ok && referenceKinds[key] != "" {
				out = append(out, referenced(referenceKinds[key], ref, namespace))
				continue
			}
			for _, part := range partsOf(e) {
				if ref, ok := part["ref"].(map[string]any); ok && partKinds[key] != "" {
					out = append(out, referenced(partKinds[key], ref, namespace))
				}
			}
			out = append(out, references(e, namespace)...)
		}
	case []any:
		for _, e := range v {
			out = append(out, references(e, namespace)...)
		}
	}
	return out
}

// partKinds contains the kind of the claim to which the field ref of a part of an OpenStackCluster refers, by the field of the part.
var partKinds = map[string]string{
	"controlPlane": controlplanev1.GroupVersionKind.Kind, "storage": storagev1.GroupVersionKind.Kind,
	"hypervisorPools": hypervisorv1.GroupVersionKind.Kind,
}

// partsOf returns an object, or the objects of a list.
func partsOf(v any) []map[string]any {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var out []map[string]any
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// referenced returns the claim of a kind that a reference names.
func referenced(kind string, ref map[string]any, namespace string) preview.Identity {
	name, _ := ref["name"].(string)
	in, _ := ref["namespace"].(string)
	return preview.Identity{Kind: kind, Namespace: cmp.Or(in, namespace), Name: name}
}
