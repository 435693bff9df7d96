package registry

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOptionAcceptsOnlyClassesOfRelease checks that an option only accepts classes of its release.
func TestOptionAcceptsOnlyClassesOfRelease(t *testing.T) {
	const all = "nova.scheduler.filters.all_filters"
	for name, tc := range map[string]struct {
		reason, option string
		value          any
		want           string
	}{
		"List":    {reason: "Filters are named by their classes.", option: "enabled_filters", value: []any{"ComputeFilter", "IoOpsFilter"}},
		"Text":    {reason: "A list may be one text.", option: "enabled_filters", value: "ComputeFilter, IoOpsFilter"},
		"Empty":   {reason: "No filter is no wrong one.", option: "enabled_filters", value: []any{}},
		"Default": {reason: "A function lists classes.", option: "available_filters", value: []any{all, "nova.scheduler.filters.compute_filter.ComputeFilter"}},
		"Other":   {reason: "Options that name no classes are not looked at.", option: "isolated_hosts", value: []any{"ComputFilter"}},
		"Number":  {reason: "CheckOption reports invalid names.", option: "enabled_filters", value: []any{nil}},
		"Misspelled": {
			"The scheduler would not start.", "enabled_filters", []any{"ComputeFilter", "IOOpsFilter"},
			"[filter_scheduler] enabled_filters names IOOpsFilter, which nova 2025.2 does not have: did you mean IoOpsFilter?",
		},
		"Path": {
			"Weighers are named by their paths.", "weight_classes", []any{"nova.scheduler.weights.ram.RamWeigher"},
			"[filter_scheduler] weight_classes names nova.scheduler.weights.ram.RamWeigher, which nova 2025.2 does not have: " +
				"did you mean nova.scheduler.weights.ram.RAMWeigher?",
		},
		"Repeated": {
			"An option that is repeated names one each time.", "available_filters", []any{all, "nova.scheduler.filters.all_filter"},
			"[filter_scheduler] available_filters names nova.scheduler.filters.all_filter, which nova 2025.2 does not have: did you mean " + all + "?",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := For("nova", "2025.2")
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := r.CheckClasses("filter_scheduler", tc.option, tc.value); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestClassesIncludeDefaultFilters checks, for each release, that the known classes include Nova's default filters, and no base class.
func TestClassesIncludeDefaultFilters(t *testing.T) {
	for _, r := range All("nova") {
		o := r.Lookup("filter_scheduler", "enabled_filters")[0]
		for _, name := range []string{"ComputeFilter", "ComputeCapabilitiesFilter", "ImagePropertiesFilter", "ServerGroupAntiAffinityFilter", "ServerGroupAffinityFilter"} {
			if !slices.Contains(o.Classes, name) {
				t.Errorf("%s: %s is none of %v", r.Release, name, o.Classes)
			}
		}
		if slices.Contains(o.Classes, "BaseHostFilter") {
			t.Errorf("%s: a base class is no filter: %v", r.Release, o.Classes)
		}
	}
}
