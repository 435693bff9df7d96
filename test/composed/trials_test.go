package composed

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// baseline is a cloud before a change.
type baseline struct {
	claims fieldClaims
	specs  specs
	clouds []*cloud
	// programs of each claim, with false for each.
	programs changes
	// existing are the claims of another tenant, and their composite resources.
	existing []*structpb.Struct
}

func newBaseline(t *testing.T, claims fieldClaims, s specs) *baseline {
	t.Helper()
	out := &baseline{claims: claims, specs: s}
	var err error
	if out.clouds, err = claims.composeChain(t, s, nil, claimKinds, nil); err != nil {
		t.Fatalf("testdata/fields/claims.yaml: %v", err)
	}
	same := contents(t, out.clouds)
	out.programs = changesOf(same, same)
	return out
}

func contents(t *testing.T, clouds []*cloud) []map[string]string {
	t.Helper()
	var out []map[string]string
	for _, c := range clouds {
		out = append(out, programs(t, c))
	}
	return out
}

// trial is a change of fields of one claim. No program is in the rows of two of them. If a program changes by a field whose row does not
// name it, a fault of another field can stay hidden; a trial of one field hides none.
type trial struct {
	// from is the index of the kind of the claim in claimKinds.
	from int
	// to has, for each field, the index of the last kind with programs of its row.
	to map[string]int
	// spec is the spec of the claim before the change.
	spec   map[string]any
	fields []claimField
	rows   map[string]fieldRow
	// programs of the rows.
	programs map[string]bool
	// effect is set if all rows are ineffective, or fixed.
	effect string
}

// plan returns trials with one more field: in the first trial that it fits into, or alone.
func (b *baseline) plan(trials []*trial, table string, f claimField, r fieldRow) []*trial {
	kind := kindOf(table)
	next := &trial{
		from: slices.Index(claimKinds, kind), fields: []claimField{f}, rows: map[string]fieldRow{f.path: r}, programs: map[string]bool{},
		spec: b.claims.prepared(kind, b.specs[kind], f),
	}
	next.to = map[string]int{f.path: next.from}
	switch {
	case r.is(ineffective), r.is(fixed):
		next.effect = r.programs[0]
	default:
		for _, p := range r.programs {
			names, claim := b.programs[next.from:].matching(p)
			for _, name := range append(names, p) {
				next.programs[name] = true
			}
			next.to[f.path] = max(next.to[f.path], next.from+claim)
		}
	}
	if !effort.Long() && next.effect != fixed {
		for _, tr := range trials {
			if tr.accepts(next) {
				tr.add(next)
				return trials
			}
		}
	}
	return append(trials, next)
}

func (tr *trial) accepts(next *trial) bool {
	for name := range next.programs {
		if tr.programs[name] {
			return false
		}
	}
	return tr.effect == next.effect && reflect.DeepEqual(tr.spec, next.spec)
}

func (tr *trial) add(next *trial) {
	tr.fields = append(tr.fields, next.fields...)
	maps.Copy(tr.to, next.to)
	maps.Copy(tr.rows, next.rows)
	maps.Copy(tr.programs, next.programs)
}

// run returns the differences of the rows of a trial from the cloud.
func (b *baseline) run(t *testing.T, tr *trial) []string {
	t.Helper()
	before := b.clouds[tr.from:]
	if !reflect.DeepEqual(tr.spec, b.specs[claimKinds[tr.from]]) {
		var err error
		if before, err = b.compose(t, tr, tr.spec, tr.fields); err != nil {
			return []string{fmt.Sprintf("the needs of spec.%s in claims.yaml: %v", tr.fields[0].path, err)}
		}
	}
	return b.try(t, tr, contents(t, before), tr.fields)
}

// compose returns the claim of a trial with a spec, and the claims of later kinds that have programs of the rows of some fields.
func (b *baseline) compose(t *testing.T, tr *trial, spec map[string]any, fields []claimField) ([]*cloud, error) {
	t.Helper()
	to := tr.from
	for _, f := range fields {
		to = max(to, tr.to[f.path])
	}
	s := maps.Clone(b.specs)
	s[claimKinds[tr.from]] = spec
	all, err := b.claims.composeChain(t, s, b.clouds[:tr.from], claimKinds[tr.from:to+1], b.existing)
	if err != nil {
		return nil, err
	}
	return all[tr.from:], nil
}

// try changes some fields of a trial. If their values do not fit together, or a field of an ineffective row has an effect, it tries halves.
func (b *baseline) try(t *testing.T, tr *trial, before []map[string]string, fields []claimField) []string {
	t.Helper()
	spec := tr.spec
	for _, f := range fields {
		spec = b.claims.changed(claimKinds[tr.from], spec, f)
	}
	path := fields[0].path
	after, err := b.compose(t, tr, spec, fields)
	var out []string
	switch {
	case tr.effect == fixed && err == nil:
		return []string{fmt.Sprintf("spec.%s has another value, which is valid; set the programs that depend on it", path)}
	case tr.effect == fixed:
		return nil
	case err == nil:
		c := changesOf(before[:len(after)], contents(t, after))
		for _, f := range fields {
			out = append(out, tr.rows[f.path].check(f.path, c)...)
		}
		if len(out) == 0 || len(fields) == 1 || tr.effect == "" {
			return out
		}
	case len(fields) == 1:
		return []string{fmt.Sprintf("spec.%s cannot be changed; set another value in claims.yaml: %v", path, err)}
	}
	half := len(fields) / 2
	return append(b.try(t, tr, before, fields[:half]), b.try(t, tr, before, fields[half:])...)
}
