package versions

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Range is a range of series, such as 1.18 to 1.20, each with all its patch releases.
type Range struct {
	// From is the first series. To is the last one: empty for all later ones.
	From, To string
}

// only returns the range of one series.
func only(series string) Range { return Range{series, series} }

// String returns the range in readable form; empty for the zero value.
func (r Range) String() string {
	switch r.To {
	case "":
		return r.From + strings.Repeat(" or newer", min(len(r.From), 1))
	case r.From:
		return r.From
	}
	return r.From + " to " + r.To
}

// Contains reports whether a version belongs to a series of the range.
func (r Range) Contains(version string) bool {
	return compare(version, r.From) >= 0 && (r.To == "" || compare(version, r.To) <= 0)
}

// compare compares a version with a series by the numbers that the series has.
func compare(version, series string) int {
	a, b := strings.Split(version, "."), strings.Split(series, ".")
	for i := range min(len(a), len(b)) {
		x, errX := strconv.Atoi(a[i])
		y, errY := strconv.Atoi(b[i])
		if c := cmp.Compare(x, y); errX != nil || errY != nil || c != 0 {
			return cmp.Or(c, strings.Compare(a[i], b[i]))
		}
	}
	return cmp.Compare(min(len(a), len(b)), len(b))
}

// Supported returns the programs that have a supported range, in the order of the documentation.
func Supported() []Program {
	return slices.DeleteFunc(Table(), func(p Program) bool { return p.Supported == Range{} })
}

// Minimum is a file that requires a minimum version of a supported program: the first group of a regular expression.
type Minimum struct {
	Program string
	Pinned
}

// Minimums returns the files that require a version, because their readers cannot read the table.
func Minimums() []Minimum {
	const crossplane = `crossplane:\n\s+version: ">=v([0-9.]+)-0"`
	return []Minimum{
		{"Kubernetes", Pinned{"package/chart/Chart.yaml", `kubeVersion: ">=([0-9.]+)-0"`}},
		{"Kubernetes", Pinned{"docs/install.md", `Kubernetes ([0-9.]+) or newer`}},
		{"Crossplane", Pinned{"package/configuration/crossplane.yaml", crossplane}},
		{"Crossplane", Pinned{"package/function/crossplane.yaml", crossplane}},
		{"provider-kubernetes", Pinned{"package/configuration/crossplane.yaml", `provider-kubernetes\n\s+version: ">=v([0-9.]+)"`}},
	}
}

// Library is a Go module that go.mod requires.
type Library string

// Libraries returns the modules that decide the compatibility of the functions and of the companion, in the order of the documentation.
func Libraries() []Library {
	return []Library{
		"github.com/crossplane/function-sdk-go", "github.com/crossplane/crossplane-runtime", "github.com/crossplane/crossplane/apis",
		"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "github.com/gophercloud/gophercloud",
	}
}
